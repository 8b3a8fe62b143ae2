"""Secrets that are known by what stands around them: a name, a header, an address, a command.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from typing import Final

from hermes_memory.domain.secret_lines import LINE_ENDS, SPANNING, SPOKEN_VALUE, ContextShape, context
from hermes_memory.domain.secret_names import ACCESS, ACCESS_WORDS
from hermes_memory.domain.stop_words import STOP_WORDS

_SAID_OF_PHRASES: Final = """
agreed ask changed character characters chars contains decided default dialog digits disabled empty enabled encrypts
entropy error expired expires failed fails field file files five forgotten four hidden incorrect input invalid kept
keychain last least length letters long login longer lost manager match matches max maximum min minimum missing
month months never next none office option optional phrase policy private prompt protected protects random read
refused rejected required reset rotate rotated rotates rotation same saved secret see set shared short shown six
stored strong text three today tomorrow two unknown unlocks unset updated use used user users uses vault weak week
weeks wiki word words works written wrong year years yesterday
siehe steht liegt zeichen wort worte wörter lang kurz fehlt falsch leer geheim
"""
_PARTED_VALUE: Final = (
    r"(?!(?:await|delete|new|typeof|void|yield)[ \t])"
    r"[^\s;\"'`=<(${][^\s;\"'`=<(]{0,63}(?:[ \t]{1,4}[^\s;\"'`=<(]{1,64}){1,4}"
)
_LONE_USER: Final = (
    r"(?:[0-9a-fA-F]{32,128}|(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9]{40,255}"
    r"|(?=[a-z0-9_]{0,64}[A-Z])(?=[A-Za-z_]{0,32}[0-9]{1,32}[A-Za-z_]{1,32}[0-9])[A-Za-z0-9_]{20,255})"
)
"""What stands for a user in an address and is no name of one: a token needs no password beside it."""
_AFTER_A_HOST: Final = r"[0-9]{0,5}[/?#,;]|[$%{]{0,3}(?i:\w{0,16}port)[%}]{0,3}[/?#]|\$\w{1,64}[/?#]|[${*]"
"""Behind the name of a host: a port, or what stands for one."""
_HOST: Final = r"(?:[\w.-]{1,256}+|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?(?![^\s/?,;:\"'`)\]}>])"
_PHRASE_STOPS: Final = "|".join(sorted({*STOP_WORDS, *_SAID_OF_PHRASES.split()}))
_PROGRAM: Final = r"[|&+*.?]"
"""What a value in a program is put together with."""
_EQUALS: Final = (
    rf"(?:=(?![ \t])|[ \t]{{0,2}}=[ \t]{{0,2}}(?=[^;\"'`\n]{{0,320}}[0-9])"
    rf"(?!(?:[^\s;]{{1,64}}[ \t]{{1,4}}){{0,4}}?(?:(?:{_PHRASE_STOPS})\b|[^\s;]{{0,64}}{_PROGRAM})))"
)
"""The sign before a value. With blanks around it rules and programs have it as well, so more is asked of the value."""
_PHRASE_WORD: Final = rf"(?!(?i:{_PHRASE_STOPS})\b)"
_PHRASE: Final = "|".join(
    rf"(?:{_PHRASE_WORD}{word}[ \t]{{1,2}}){{2,11}}{_PHRASE_WORD}{word}"
    for word in ("[a-zß-öø-ÿ]{2,16}", "[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{1,16}")
)
"""Words in a row that make no sentence: all of them are small, or all of them begin with a capital."""

CONTEXTS: Final = (
    *SPANNING,
    context(
        "uri-password",
        "://",
        rf"://(?P<secret>{_LONE_USER})(?::[^\s/@?#\"<>\[]{{0,64}})?@(?![\w.-]{{0,256}}sentry)(?=[\w\[])",
        re.NOFLAG,
    ),
    # The password in the userinfo of a URI (RFC 3986, 3.2.1), up to the last `@` before the path.
    context(
        "uri-password",
        "://",
        r"://[^\s/:@?#\"<>\[]{0,256}:(?:(?![0-9]{1,5};)(?P<secret>[^\s/?#\"<>]{1,512})@(?=[^\s@])(?!sha256:)"
        # Or one in which a path seems to begin, because nobody has escaped it.
        rf"|(?!{_AFTER_A_HOST})(?P<unescaped>[^\s\"<>]{{1,512}}?)@(?={_HOST}))",
        re.NOFLAG,
    ),
    # A server of data has no path before its port.
    context(
        "uri-password",
        "postgres mysql mariadb redis amqp mongodb",
        # Only a user of Redis may have no name, or the path and query of a server without a port would look like this.
        r"(?:rediss?://|(?:postgres(?:ql)?|mysql|mariadb|amqps?|mongodb)://(?=[^:]))[^\s/:@?#\"<>\[]{0,256}:"
        rf"(?P<secret>[/?#][^\s\"<>=&,]{{0,512}}?={{0,2}})@(?={_HOST})",
    ),
    context("uri-password", "thin:", r"thin:[^\s/@]{1,128}/(?P<secret>[^\s/@]{1,256})@"),
    context(
        "authorization",
        "authorization",
        r"authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"'`]?(?:bearer|basic|token|apikey|digest)[ \t]{1,4}"
        r"(?P<secret>[^\s\"'`,\\]{6,16384})",
    ),
    context(
        "authorization",
        "bearer basic",
        r"(?<![\w-])(?:bearer[ \t]{1,4}(?P<bearer>(?=[^\s0-9]{0,256}[0-9])[\w.~+/=-]{8,16384})"
        r"|basic[ \t]{1,4}(?P<basic>[A-Za-z0-9+/]{8,1024}={1,2}))",
    ),
    context(
        "cookie",
        "cookie",
        r"(?<![\w-])(?:set-)?cookie\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
        r"(?P<secret>[\w.%-]{1,128}=[^\s\"';\\]{6,4096}(?:;[ \t]?[^\s\"';=\\]{1,128}(?:=[^\s\"';\\]{0,4096})?){0,64})",
    ),
    context("otp-secret", "otpauth://", r"otpauth://[^\s]{0,256}?[?&]secret=(?P<secret>[A-Za-z2-7=]{8,256})"),
    context(
        "signature",
        "sig=",
        r"[?&](?:sig)=(?P<secret>[\w%+/=.-]{20,1024})",
    ),
    context(
        "signature",
        "signature=",
        r"(?:[?&]|,[ \t]?)(?:x-amz-|x-goog-)?signature=(?P<secret>[\w%+/=.-]{20,1024})",
    ),
    context(
        "query-key", "?key= &key= ?code= &code=", r"[?&](?:key|code)=(?P<secret>(?=[^\s&]{0,64}[0-9])[\w%=.-]{20,1024})"
    ),
    context(
        "webhook",
        "hooks",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|hooks\.zapier\.com/hooks/catch)/(?P<secret>[\w/-]{12,256})",
    ),
    context("webhook", "webhook.office.com/webhookb2/", r"webhook\.office\.com/webhookb2/(?P<secret>[\w@/-]{20,512})"),
    context("webhook", "/open-apis/bot/ /with/key/", r"/(?:open-apis/bot/v2/hook|with/key)/(?P<secret>[\w-]{16,128})"),
    context(
        "secret",
        "</",
        r"<[\w:.-]{0,64}(?:password|passwd|secret|token|api[_-]?key)>(?P<secret>[^<>\s]{1,1024})</",
    ),
    context(
        "secret", "auth", r"[\"']_?auth[\"'][ \t]{0,4}:[ \t]{0,4}[\"'](?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})[\"']"
    ),
    context("secret", "_auth", r"(?<![a-z0-9])_auth[ \t]{0,4}=[ \t]{0,4}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})(?!\S)"),
    # Secrets given to a command as an option.
    context(
        "password",
        "--pass --token --api-key --secret",
        r"(?<![\w-])--(?:password|passwd|token|api-key|secret)[ \t]{1,4}[\"']?"
        r"(?P<named>(?=[^\s0-9]{0,256}[0-9])[^\s\"']{4,512})",
        re.NOFLAG,
    ),
    context(
        "password",
        "-u --user",
        r"(?<![\w-])(?:--proxy-user(?:[ \t]{1,4}|=)|(?:-u[ \t]{1,4}|--user(?:[ \t]{1,4}|=))"
        # A user and the group of the same name, which a container is run as.
        r"(?![\"']?([^\s:\"']{1,128}):\1(?![^\s\"'])))[\"']?[^\s:\"'/\[]{1,128}:"
        r"(?P<pair>(?!//)(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256})",
        re.NOFLAG,
    ),
    context("password", "pass:", r"-pass(?:in|out|phrase)?[ \t]{1,4}pass:(?P<secret>[^\s\"']{1,256})", re.NOFLAG),
    # Files and statements that have a place for a password.
    context(
        "password",
        ":543 :643 :*:",
        rf"(?<![^{LINE_ENDS}])"
        r"[ \t]{0,8}(?:[\w.-]{1,256}|\*):(?:[56]43[0-9]|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:"
        rf"(?P<secret>[^\s:]{{1,256}})[ \t]{{0,8}}(?![^{LINE_ENDS}])",
        re.NOFLAG,
    ),
    context(
        "password",
        "password identified",
        r"(?:(?i:identified[ \t]{1,4}by|(?:with|encrypted|login)[ \t]{1,4}password)|PASSWORD)[ \t]{1,4}"
        r"'(?P<secret>[^'\n]{1,512})'",
        re.NOFLAG,
    ),
    # A value with blanks in it, between the signs of a connection string.
    context(
        "password",
        "password pwd",
        rf"(?:;[ \t]{{0,4}}(?:password|pwd){_EQUALS}(?P<inner>{_PARTED_VALUE})(?=[;\"'`])"
        rf"|(?<![\w-])(?:password|pwd){_EQUALS}(?P<first>{_PARTED_VALUE})(?=;[ \t]?[A-Za-z][\w ]{{0,40}}=))",
    ),
    # What people say.
    context(
        "password",
        "passphrase",
        r"(?i:passphrase)\\?[\"'`]?\*{0,3}[ \t]{0,4}[:：=]\*{0,3}[ \t]{0,4}[\"'“„«`]?"
        rf"(?P<secret>{_PHRASE})(?![^\s.,;:!?)\]}}\"'”“»`<|])(?![ \t]{{1,4}}[^\W_])",
        re.NOFLAG,
    ),
    context(
        "password",
        " ".join(word for word in (*ACCESS_WORDS, "passcode", "passe") if " " not in word),
        rf"(?:{ACCESS}|passcode)(?:[ \t]{{1,4}}[\w@.'’-]{{1,40}}){{0,5}}?[ \t]{{1,4}}"
        r"(?:is(?:[ \t]now)?|was|ist|war|lautet|es|est|è|é|jest)[ \t:]{1,4}[\"'“]?"
        rf"(?P<secret>{SPOKEN_VALUE})",
    ),
    context(
        "password",
        " ".join(word for word in ACCESS_WORDS if " " not in word),
        rf"(?:{ACCESS})[ \t]{{1,4}}(?:for|of|für|von|vom|zum|para|de|del|pour|du|per|для|от|voor|till)"
        rf"(?:[ \t]{{1,4}}[\w@./'’-]{{1,40}}){{1,5}}?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"'“]?(?P<secret>{SPOKEN_VALUE})"
        rf"|(?<!\w)(?:set|changed?|reset)[ \t]{{1,4}}(?:[\w@.'’-]{{1,40}}[ \t]{{1,4}}){{0,4}}(?:{ACCESS})[ \t]{{1,4}}"
        rf"to[ \t]{{1,4}}[\"'“]?(?P<set>{SPOKEN_VALUE})",
    ),
    context(
        "password",
        "密码 密碼 パスワード 비밀번호",
        r"(?:(?:密码|密碼)[ \t]{0,2}(?:是|为|為|改成|改为|改為)|パスワード[ \t]{0,2}は|비밀번호(?:는|가|은))"
        r"[ \t]{0,2}(?P<secret>(?=[!-~]{0,64}[0-9])(?=[!-~]{0,64}[A-Za-z])[!-~]{5,128})",
    ),
    context(
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
    (":", ("auth", "43", ":*:", "value", "private-lines", ":\n", ":\r", ": \n", ": \r", ":*")),
    ("：", ("：\n", "：\r", "： \n", "：*")),
    ("-", ("--", "-u", "curl", "mysql", "redis", "docker")),
    ("'", ("identified",)),
    ("/", ("hook", "with/key", "open-apis")),
    ("=", ("auth", "value", "cookie", "sig", "key=", "code=", "basic")),
    ("@", ("://", "thin:", "postgres", "mysql", "mariadb", "redis", "amqp", "mongodb")),
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
