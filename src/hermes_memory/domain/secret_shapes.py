"""Secrets that are known by what stands around them: a name, a header, an address, a command.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.secret_names import ACCESS, ACCESS_WORDS, BLANK, BLANKS


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextShape:
    """Secrets in one kind of surroundings.

    Attributes:
        kind: Names them in the mark that takes a secret's place.
        literals: In lower case; a text without any of them holds no such surroundings.
        pattern: The surroundings; its one group that matches is the secret.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


_SPOKEN_VALUE: Final = (
    r"(?!(?i:sha|md5|base64|bcrypt|argon|utf|ascii|aes|v[0-9]))(?=[^\s]{0,64}[0-9])(?=[^\s]{0,64}[^\W\d_])"
    r"[^\s\"'“”]{3,127}[^\s\"'“”.,;:!?)\]]"
)


def _shape(
    kind: str, literals: str | tuple[str, ...], pattern: str, flags: re.RegexFlag = re.IGNORECASE
) -> ContextShape:
    named = tuple(literals.split()) if isinstance(literals, str) else literals
    return ContextShape(kind=kind, literals=named, pattern=re.compile(pattern.replace(r"[ \t]", BLANK), flags))


_LINE_ENDS: Final = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""All that parts the lines in which secrets are looked for."""
_WORD: Final = r"[^\s]{1,256}\s{1,16}"

_FIRST: Final = rf"(?<![^{_LINE_ENDS}])[ \t]{{0,16}}"
_LINE_OVER: Final = r"(?=[ \t]{0,8}\r?\n)"
_MACHINE: Final = rf"machine\s{{1,16}}(?:[\w-]{{1,64}}\.[\w.-]{{1,256}}|localhost|[\w.-]{{1,256}}{_LINE_OVER})"
_NETRC: Final = _shape(
    "password",
    "password",
    rf"(?:(?<![\w-]){_MACHINE}|{_FIRST}default{_LINE_OVER})"
    rf"\s{{1,16}}(?:login|account)\s{{1,16}}{_WORD}(?:account\s{{1,16}}{_WORD})?"
    r"password\s{1,16}(?P<secret>[^\s]{1,256})"
    # Without a login only the lines tell: wrapped prose has such words too, but goes on behind them.
    rf"|{_FIRST}{_MACHINE}[ \t]{{0,8}}\r?\n\s{{0,16}}"
    rf"password\s{{1,16}}(?P<alone>[^\s]{{1,256}})"
    rf"(?=(?:[ \t]{{1,8}}(?:login|account)[ \t]{{1,8}}[^\s]{{1,256}})?[ \t]{{0,8}}(?![^{_LINE_ENDS}])|[ \t]{{1,8}}#)",
)
_VALUE_END: Final = r"(?![^\s\"'<>\\,;)}\]])"
_NO_VALUE: Final = (
    rf"(?:str|string|secretstr|bool|boolean|int|integer|bytes|any|optional|required)(?:\[|{_VALUE_END})"
    r"|(?:var|local|module|secrets|env)\.|!(?:Ref|Sub|GetAtt|ImportValue)\s"
)
"""A type, or where the value is fetched from."""
_PAIR: Final = _shape(
    "secret",
    "value",
    r"(?:name|key)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?[\w.-]{0,64}"
    r"(?:(?P<access>password|passwd)|secret|token|api[_-]?key|access[_-]?key)"
    r"\\?[\"']?[ \t]{0,4},?\s{0,32}(?<![\w.-])"
    r"\\?[\"']?value\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
    # A password may be short, or a number; the value of a utility token is an amount.
    rf"(?P<secret>(?!{_NO_VALUE})(?(access)[^\s\"'<>\\]{{1,4096}}"
    rf"|(?![0-9.,]{{1,15}}{_VALUE_END})[^\s\"'<>\\]{{6,4096}}))",
)
_PUTTY: Final = _shape(
    "private-key",
    "private-lines:",
    r"private-lines:[ \t]{0,4}[0-9]{1,4}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z)){1,400}+)",
)
SPANNING: Final = (_NETRC, _PAIR, _PUTTY)
"""The surroundings that may span lines."""

CONTEXTS: Final = (
    *SPANNING,
    # The password in the userinfo of a URI (RFC 3986, 3.2.1), up to the last `@` before the path.
    _shape("uri-password", "://", r"://[^\s/:@?#\"<>\[]{0,256}:(?P<secret>[^\s/?#\"<>]{1,512})@(?=[^\s@])", re.NOFLAG),
    _shape("uri-password", "thin:", r"thin:[^\s/@]{1,128}/(?P<secret>[^\s/@]{1,256})@"),
    _shape(
        "authorization",
        "authorization",
        r"authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"'`]?(?:bearer|basic|token|apikey|digest)[ \t]{1,4}"
        r"(?P<secret>[^\s\"'`,\\]{6,16384})",
    ),
    _shape(
        "authorization",
        "bearer basic",
        r"(?<![\w-])(?:bearer[ \t]{1,4}(?P<bearer>(?=[^\s0-9]{0,256}[0-9])[\w.~+/=-]{8,16384})"
        r"|basic[ \t]{1,4}(?P<basic>[A-Za-z0-9+/]{8,1024}={1,2}))",
    ),
    _shape(
        "cookie",
        "cookie",
        r"(?<![\w-])(?:set-)?cookie\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
        r"(?P<secret>[\w.%-]{1,128}=[^\s\"';\\]{6,4096}(?:;[ \t]?[^\s\"';=\\]{1,128}(?:=[^\s\"';\\]{0,4096})?){0,64})",
    ),
    _shape(
        "signature",
        "sig=",
        r"[?&](?:sig)=(?P<secret>[\w%+/=.-]{20,1024})",
    ),
    _shape(
        "signature",
        "signature=",
        r"(?:[?&]|,[ \t]?)(?:x-amz-|x-goog-)?signature=(?P<secret>[\w%+/=.-]{20,1024})",
    ),
    _shape(
        "query-key", "?key= &key= ?code= &code=", r"[?&](?:key|code)=(?P<secret>(?=[^\s&]{0,64}[0-9])[\w%=.-]{20,1024})"
    ),
    _shape("otp-secret", "otpauth://", r"otpauth://[^\s]{0,256}?[?&]secret=(?P<secret>[A-Za-z2-7=]{8,256})"),
    _shape(
        "webhook",
        "hooks",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|hooks\.zapier\.com/hooks/catch)/(?P<secret>[\w/-]{12,256})",
    ),
    _shape("webhook", "webhook.office.com/webhookb2/", r"webhook\.office\.com/webhookb2/(?P<secret>[\w@/-]{20,512})"),
    _shape("webhook", "/open-apis/bot/ /with/key/", r"/(?:open-apis/bot/v2/hook|with/key)/(?P<secret>[\w-]{16,128})"),
    _shape(
        "secret",
        "</",
        r"<[\w:.-]{0,64}(?:password|passwd|secret|token|api[_-]?key)>(?P<secret>[^<>\s]{1,1024})</",
    ),
    _shape("secret", "auth", r"[\"']_?auth[\"'][ \t]{0,4}:[ \t]{0,4}[\"'](?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})[\"']"),
    _shape("secret", "_auth", r"(?<![a-z0-9])_auth[ \t]{0,4}=[ \t]{0,4}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})(?!\S)"),
    # Secrets given to a command as an option.
    _shape(
        "password",
        "--pass --token --api-key --secret",
        r"(?<![\w-])--(?:password|passwd|token|api-key|secret)[ \t]{1,4}[\"']?"
        r"(?P<named>(?=[^\s0-9]{0,256}[0-9])[^\s\"']{4,512})",
        re.NOFLAG,
    ),
    _shape(
        "password",
        "-u --user",
        r"(?<![\w-])(?:--proxy-user(?:[ \t]{1,4}|=)|(?:-u[ \t]{1,4}|--user(?:[ \t]{1,4}|=))"
        # A user and the group of the same name, which a container is run as.
        r"(?![\"']?([^\s:\"']{1,128}):\1(?![^\s\"'])))[\"']?[^\s:\"'/\[]{1,128}:"
        r"(?P<pair>(?!//)(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256})",
        re.NOFLAG,
    ),
    _shape(
        "password",
        "curl",
        # The `&` of an address ends no command.
        r"(?<![\w-])curl[ \t](?:[^\n|;&]|&(?=\w)){0,200}?(?<=["
        + BLANKS
        + r"])(?:-[A-Za-z]{0,8}[uU][ \t]{0,4}|--(?:proxy-)?user(?:[ \t]{1,4}|=))[\"']?[^\s:\"'/\[]{1,128}:"
        r"(?P<pair>(?!//)(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256})",
        re.NOFLAG,
    ),
    _shape(
        "password",
        "sshpass mysql redis-cli docker",
        r"(?<![\w-])(?:sshpass[ \t]{1,4}-p[ \t]{0,4}|mysql(?:dump|admin)?[ \t][^\n|;&]{0,200}?(?<=[ \t])-p(?![ \t])"
        r"|redis-cli[ \t][^\n|;&]{0,200}?(?<=[ \t])-a[ \t]{1,4}"
        r"|docker[ \t]{1,4}login[^\n|;&]{0,200}?(?<=[ \t])-p[ \t]{1,4})"
        r"[\"']?(?P<secret>[^\s\"']{1,256})",
        re.NOFLAG,
    ),
    _shape("password", "pass:", r"-pass(?:in|out|phrase)?[ \t]{1,4}pass:(?P<secret>[^\s\"']{1,256})", re.NOFLAG),
    # Files and statements that have a place for a password.
    _shape(
        "password",
        ":543 :643 :*:",
        rf"(?<![^{_LINE_ENDS}])"
        r"[ \t]{0,8}(?:[\w.-]{1,256}|\*):(?:[56]43[0-9]|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:"
        rf"(?P<secret>[^\s:]{{1,256}})[ \t]{{0,8}}(?![^{_LINE_ENDS}])",
        re.NOFLAG,
    ),
    _shape(
        "password",
        "password identified",
        r"(?:(?i:identified[ \t]{1,4}by|(?:with|encrypted|login)[ \t]{1,4}password)|PASSWORD)[ \t]{1,4}"
        r"'(?P<secret>[^'\n]{1,512})'",
        re.NOFLAG,
    ),
    # What people say.
    _shape(
        "password",
        " ".join(word for word in (*ACCESS_WORDS, "passcode", "passe") if " " not in word),
        rf"(?:{ACCESS}|passcode)(?:[ \t]{{1,4}}[\w@.'’-]{{1,40}}){{0,5}}?[ \t]{{1,4}}"
        r"(?:is(?:[ \t]now)?|was|ist|war|lautet|es|est|è|é|jest)[ \t:]{1,4}[\"'“]?"
        rf"(?P<secret>{_SPOKEN_VALUE})",
    ),
    _shape(
        "password",
        " ".join(word for word in ACCESS_WORDS if " " not in word),
        rf"(?:{ACCESS})[ \t]{{1,4}}(?:for|of|für|von|vom|zum|para|de|del|pour|du|per|для|от|voor|till)"
        rf"(?:[ \t]{{1,4}}[\w@./'’-]{{1,40}}){{1,5}}?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"'“]?(?P<secret>{_SPOKEN_VALUE})"
        rf"|(?<!\w)(?:set|changed?|reset)[ \t]{{1,4}}(?:[\w@.'’-]{{1,40}}[ \t]{{1,4}}){{0,4}}(?:{ACCESS})[ \t]{{1,4}}"
        rf"to[ \t]{{1,4}}[\"'“]?(?P<set>{_SPOKEN_VALUE})",
    ),
    _shape(
        "password",
        "密码 密碼 パスワード 비밀번호",
        r"(?:(?:密码|密碼)[ \t]{0,2}(?:是|为|為|改成|改为|改為)|パスワード[ \t]{0,2}は|비밀번호(?:는|가|은))"
        r"[ \t]{0,2}(?P<secret>(?=[!-~]{0,64}[0-9])(?=[!-~]{0,64}[A-Za-z])[!-~]{5,128})",
    ),
    _shape(
        "seed-phrase",
        "phrase mnemonic words",
        r"(?:(?:seed|mnemonic|recovery)[ \t](?:phrase|words)|mnemonic)[\"']?[ \t]{0,4}(?:is|are|:|=)[ \t]{0,4}[\"']?"
        r"(?P<secret>[a-z]{3,8}(?:[ \t,]{1,2}[a-z]{3,8}){11,23})",
    ),
)

_HINTS: Final = (
    *("pass", "pwd", "kennwort", "senha", "heslo", "wachtwoord", "adgangskode", "salasana"),
    *("bearer", "phrase", "mnemonic", "words"),
)
_HINTS_BY_MARK: Final = (
    (":", ("auth", "43", ":*:", "value", "private-lines")),
    ("-", ("--", "-u", "curl", "mysql", "redis", "docker")),
    ("'", ("identified",)),
    ("/", ("hook", "with/key", "open-apis")),
    ("=", ("auth", "value", "cookie", "sig", "key=", "code=", "basic")),
    ("@", ("://", "thin:")),
    ("<", ("</",)),
)
"""What tells of surroundings that have a certain character in them, in the order in which texts have these."""
_FOREIGN_HINTS: Final = tuple(word for word in ACCESS_WORDS if not word.isascii())


def suspected_contexts(text: str, folded: str) -> tuple[ContextShape, ...]:
    """Return the kinds of surroundings that a text has, by a look that spares most texts the search.

    Args:
        folded: The text in lower case.
    """
    if not hints_at_a_secret(folded):
        return ()
    return tuple(shape for shape in CONTEXTS if holds_any(folded, shape.literals) and shape.pattern.search(text))


def hints_at_a_secret(folded: str) -> bool:
    """Tell whether a folded text has a part of what every shape needs: of a literal, and a character beside it."""
    if holds_any(folded, _HINTS):
        return True
    for mark, hints in _HINTS_BY_MARK:
        if mark in folded and holds_any(folded, hints):
            return True
    return not folded.isascii() and holds_any(folded, _FOREIGN_HINTS)


def holds_any(text: str, literals: tuple[str, ...]) -> bool:
    """Tell whether any of the literals is in a text."""
    for literal in literals:  # noqa: SIM110 - on the way of every write, and any() takes four times as long
        if literal in text:
            return True
    return False
