"""Secrets that are known by what stands around them: a name, a header, an address, a command.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


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


_ACCESS_WORDS: Final = (
    *("password", "passwort", "passwd", "passphrase", "pwd", "kennwort", "mot de passe", "contraseña", "senha"),
    *("hasło", "пароль", "密码", "密碼", "パスワード", "비밀번호"),
)
_ACCESS: Final = rf"{'|'.join(_ACCESS_WORDS)}|(?<=[_-])pass"
_OWNERS_IN_ONE_WORD: Final = (
    "account|admin|api|app|auth|basic|client|conn|database|db|default|email|ftp|host|http|imap|key|keystore|ldap|login"
    "|mail|mongo|my|mysql|new|old|pg|postgres|proxy|redis|root|server|service|smtp|sql|ssh|store|truststore|user|wifi"
)
"""What is written in one word with "pass". There is no compass, bypass or trespass among them."""
_OWNED: Final = rf"(?:{_OWNERS_IN_ONE_WORD})pass"
_ALONE: Final = r"(?<![^\W_])pass"
_ASSIGNED: Final = rf"{_ACCESS}|{_OWNED}|(?P<lone>{_ALONE}(?=[0-9_]{{0,3}}(?:\\?[\"'`]|=[^\s=])))"
"""In speech "pass" alone is no password: only with its sign right behind it, or in quotes."""
_KEY_OWNERS: Final = (
    "access|account|admin|app|application|auth|client|deploy|encryption|hmac|host|jwt|license|master|private|root"
    "|secret|service|shared|signing|ssh|storage|webhook"
)
_KEYS: Final = (
    rf"secret|token|api[ _-]?key|(?:{_KEY_OWNERS})[ _-]?key|key[_-]data|credentials?|phpsessid|jsessionid|connect\.sid"
    "|authorization"
)
NAME_ENDINGS: Final = (
    *_ACCESS_WORDS,
    *("pass", "secret", "token", "key", "key-data", "key_data", "credential", "credentials"),
    *("phpsessid", "jsessionid", "connect.sid", "authorization", "auth"),
)
"""In lower case: how every name ends that `ASSIGNMENT` and `NAME` know, and some others."""
_BLANKS: Final = " \t\xa0\xad\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff"
"""What parts words within a line, as a range of characters: some of it is not seen."""
_BLANK: Final = f"[{_BLANKS}]"
_UNUSUAL_BLANKS: Final = "".join(re.findall(f"(?![ \t]){_BLANK}", "".join(map(chr, range(0x10000)))))
NAME_TAIL: Final = " \t0123456789_\"'`]\\" + _UNUSUAL_BLANKS
"""What may stand between such a name and its sign."""
LONGEST_ENDING: Final = 64
"""Characters before a sign in which the end of a name with its tail is looked for."""

_VALUE: Final = (
    r"(?:\\?\"(?P<double>[^\"\\\n]{1,4096})\\?\"|\\?'(?P<single>[^'\\\n]{1,4096})\\?'|`(?P<tick>[^`\n]{1,4096})`"
    r"|\\?[\"'](?P<open>[^\s\"'\\]{1,4096})|(?P<bare>[^\s\"'`,;&<>\\][^\s\"',;&<>]{0,4095}))"
)
ASSIGNMENT: Final = re.compile(
    rf"(?:(?P<password>{_ASSIGNED})|(?P<key>{_KEYS}))[0-9_]{{0,3}}\\?(?:[\"'`]\]?)?"
    rf"(?P<sign>{_BLANK}{{0,8}}(?:=>|:=){_BLANK}{{0,8}}|{_BLANK}{{1,8}}={{1,3}}{_BLANK}{{1,8}}"
    rf"|{_BLANK}{{0,8}}={{1,3}}(?![{_BLANKS}=])|{_BLANK}{{0,8}}[:：]{_BLANK}{{0,8}})"
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""A secret's name with the value given to it: in code, configuration, JSON, connection strings or speech."""
NAME: Final = re.compile(
    rf"(?:(?P<password>{_ACCESS}|{_OWNED}|(?P<lone>{_ALONE}))|(?P<key>{_KEYS}|(?P<auth>(?<![^\W_])auth)))"
    r"[0-9_]{0,3}\Z",
    re.IGNORECASE,
)
"""The end of the name of a value that is a secret; of one under `lone` or `auth` it may be."""
SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|digest)\s{1,4}(?=\S{6,16384}\Z)", re.IGNORECASE)
"""What stands before the secret in the value of an `Authorization` header (RFC 9110, 11.4)."""
METHOD: Final = re.compile(
    r"(?:oauth|ntlm|saml|x509|aws4|m?tls|sasl|scram|sha|md5|oidc|jwt|http|v[0-9])[\w.-]*", re.IGNORECASE
)
"""Names how somebody proves who it is, and is no secret."""

_SPOKEN_VALUE: Final = (
    r"(?!(?i:sha|md5|base64|bcrypt|argon|utf|ascii|aes|v[0-9]))(?=[^\s]{0,64}[0-9])(?=[^\s]{0,64}[^\W\d_])"
    r"[^\s\"'“”]{3,127}[^\s\"'“”.,;:!?)\]]"
)


def _shape(
    kind: str, literals: str | tuple[str, ...], pattern: str, flags: re.RegexFlag = re.IGNORECASE
) -> ContextShape:
    named = tuple(literals.split()) if isinstance(literals, str) else literals
    return ContextShape(kind=kind, literals=named, pattern=re.compile(pattern.replace(r"[ \t]", _BLANK), flags))


_LINE_ENDS: Final = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""All that parts the lines in which secrets are looked for."""
_WORD: Final = r"[^\s]{1,256}\s{1,16}"

_NETRC: Final = _shape(
    "password",
    "password",
    r"(?<![\w-])(?:machine\s{1,16}(?:[\w-]{1,64}\.[\w.-]{1,256}|localhost|[\w.-]{1,256}(?=[ \t]{0,8}\r?\n))"
    r"|default(?=[ \t]{0,8}\r?\n))"
    rf"(?:\s{{1,16}}(?:login|account)\s{{1,16}}{_WORD}(?:account\s{{1,16}}{_WORD})?|[ \t]{{0,8}}\r?\n\s{{0,16}})"
    r"password\s{1,16}(?P<secret>[^\s]{1,256})",
)
SPANNING: Final = (_NETRC,)
"""The surroundings that may span lines."""

CONTEXTS: Final = (
    *SPANNING,
    # The password in the userinfo of a URI (RFC 3986, 3.2.1), up to the last `@` before the path.
    _shape("uri-password", "://", r"://[^\s/:@?#\"<>\[]{0,256}:(?P<secret>[^\s/?#\"<>]{1,512})@(?=[^\s@])", re.NOFLAG),
    _shape("uri-password", "thin:", r"thin:[^\s/@]{1,128}/(?P<secret>[^\s/@]{1,256})@"),
    _shape(
        "authorization",
        "authorization",
        r"authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?:bearer|basic|token|apikey|digest)[ \t]{1,4}"
        r"(?P<secret>[^\s\"',\\]{6,16384})",
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
        r"(?<![\w-])(?:-u[ \t]{1,4}|--(?:proxy-)?user(?:[ \t]{1,4}|=))[\"']?[^\s:\"'/\[]{1,128}:"
        r"(?P<pair>(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256})",
        re.NOFLAG,
    ),
    _shape(
        "password",
        "curl",
        r"(?<![\w-])curl[ \t][^\n|;&]{0,200}?(?<=["
        + _BLANKS
        + r"])-[A-Za-z]{0,8}[uU][ \t]{0,4}[\"']?[^\s:\"'/\[]{1,128}:"
        r"(?P<pair>(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256})",
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
        " ".join(word for word in (*_ACCESS_WORDS, "passcode", "passe") if " " not in word),
        rf"(?:{_ACCESS}|passcode)(?:[ \t]{{1,4}}[\w@.'’-]{{1,40}}){{0,5}}?[ \t]{{1,4}}"
        r"(?:is(?:[ \t]now)?|was|ist|war|lautet|es|est|è|é|jest)[ \t:]{1,4}[\"'“]?"
        rf"(?P<secret>{_SPOKEN_VALUE})",
    ),
    _shape(
        "seed-phrase",
        "phrase mnemonic words",
        r"(?:(?:seed|mnemonic|recovery)[ \t](?:phrase|words)|mnemonic)[\"']?[ \t]{0,4}(?:is|are|:|=)[ \t]{0,4}[\"']?"
        r"(?P<secret>[a-z]{3,8}(?:[ \t,]{1,2}[a-z]{3,8}){11,23})",
    ),
)

_HINTS: Final = ("pass", "pwd", "kennwort", "senha", "bearer", "phrase", "mnemonic", "words")
_HINTS_BY_MARK: Final = (
    (":", ("auth", "43", ":*:")),
    ("-", ("--", "-u", "curl", "mysql", "redis", "docker")),
    ("'", ("identified",)),
    ("/", ("hook", "with/key", "open-apis")),
    ("=", ("auth", "cookie", "sig", "key=", "code=", "basic")),
    ("@", ("://", "thin:")),
    ("<", ("</",)),
)
"""What tells of surroundings that have a certain character in them, in the order in which texts have these."""
_FOREIGN_HINTS: Final = tuple(word for word in _ACCESS_WORDS if not word.isascii())


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


PLACEHOLDER: Final = re.compile(
    r"\[redacted:[\w-]{1,64}\].*|<[^<>]{0,128}>?|\[[\w ]{0,64}\]?|\{.*"
    r"|\$(?:\{.*|\(.*|[A-Za-z_]{1,64}|[A-Z_][A-Z0-9_]{0,63})|%(?:\(.*|\w{0,64}%?)"
    r"|(?P<same>.)(?P=same){2,}|\.{2,}|[Yy](?:our|OUR)(?:[_ -].*)?"
    r"|(?i:none|null|nil|undefined|true|false|redacted|hidden|masked|x{3,}[\w-]{0,64})",
    re.DOTALL,
)
"""Stands where a secret would be, such as `<password>`, `$PASSWORD`, `***` or our own mark."""

CODE: Final = re.compile(
    r"[A-Za-z_][\w.]{0,255}[(\[].*"
    r"|(?:self|os|config|cfg|settings|env|environ|process|args|opts|options|request|req|this|ctx|credentials?)(?:\.\w.*)?"
    r"|(?:str|string|bytes|int|bool|optional|secretstr|any)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""An expression of a program that fetches a secret or declares its type, without showing it."""
