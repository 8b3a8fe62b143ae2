"""Secrets that are known by what stands around them: a name, a header, an address, a command.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hermes_memory.domain.secret_lines import FIRST, LINE_ENDS, SPANNING, ContextShape, context
from hermes_memory.domain.secret_names import ACCESS_WORDS, OPERATORS
from hermes_memory.domain.secret_speech import KEY_SAID, SPEECH

_PARTED_VALUE: Final = (
    rf"(?!(?:{'|'.join(OPERATORS)})[ \t])"
    r"[^\s;\"'`=<(${][^\s;\"'`=<(]{0,63}(?:[ \t]{1,4}[^\s;\"'`=<(]{1,64}){1,4}"
)
_OF_A_CONNECTION: Final = (
    "(?:encrypt|trust|persist|integrated|server|data|initial|uid|user[ ]id|host|port|pooling|ssl|connect|timeout)"
)
"""How the next name begins where blanks stand around the sign, as they do in programs and in prose."""
_LONE_USER: Final = (
    r"(?:[0-9a-fA-F]{32,128}|(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9]{40,255}"
    r"|(?=[a-z0-9_]{0,64}[A-Z])(?=[A-Za-z_]{0,32}[0-9]{1,32}[A-Za-z_]{1,32}[0-9])[A-Za-z0-9_]{20,255})"
)
"""What stands for a user in an address and is no name of one: a token needs no password beside it."""
_PORT: Final = "(?:2[1-5]|53|80|[0-9]{3,5})"
_AFTER_A_HOST: Final = rf"{_PORT}?[/?#,;]|[$%{{]{{0,3}}(?i:\w{{0,16}}port)[%}}]{{0,3}}[/?#]"
"""Behind the name of a host: a port, or what stands for one."""
_HOST: Final = r"(?:[\w.-]{1,256}+|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?(?![^\s/?,;:\"'`)\]}>])"

CONTEXTS: Final = (
    context(
        "uri-password",
        "://",
        rf"://(?P<secret>{_LONE_USER})(?::[^\s/@?#\"<>\[]{{0,64}})?@(?![\w.-]{{0,256}}sentry)(?=[\w\[])",
        re.NOFLAG,
    ),
    # A server of data has no path before its port, nor an `@` in the name of a database.
    context(
        "uri-password",
        "postgres mysql mariadb redis amqp mongodb",
        # Only a user of Redis may have no name, or the path and query of a server without a port would look like this.
        r"(?:rediss?://|(?:postgres(?:ql)?|mysql|mariadb|amqps?|mongodb)://(?=[^:]))[^\s/:@?#\"<>\[]{0,256}:"
        rf"(?P<secret>[/?#][^\s\"<>=&,]{{0,512}}?={{0,2}}"
        r"|[^\s/?#\"<>@]{1,128}@[^\s/?#\"<>@=&,]{0,128}/[^\s/?#\"<>@=&,]{0,256})"
        rf"@(?={_HOST})",
    ),
    # The password in the userinfo of a URI (RFC 3986, 3.2.1), up to the last `@` before the path.
    context(
        "uri-password",
        "://",
        rf"://[^\s/:@?#\"<>\[]{{0,256}}:(?:(?!{_PORT};)(?P<secret>[^\s/?#\"<>]{{1,512}})@(?=[^\s@])(?!sha256:)"
        # Or one in which a path seems to begin, because nobody has escaped it.
        rf"|(?!{_AFTER_A_HOST})(?P<unescaped>[^\s\"<>]{{1,512}}?)@(?!sha256:)(?={_HOST}))",
        re.NOFLAG,
    ),
    context(
        "uri-password",
        "proxy",
        r"proxy[\"']?[ \t]{0,2}[ \t:=][ \t]{0,2}[\"']?[\w.-]{1,64}:(?P<secret>[^\s:/@]{3,128})"
        r"@[\w.-]{1,256}:[0-9]{2,5}(?![0-9])",
    ),
    context("uri-password", "trojan://", rf"(?<!\w)trojan://(?P<secret>[^\s/@:?#]{{3,256}})@(?={_HOST})"),
    context("uri-password", "thin:", r"thin:[^\s/@]{1,128}/(?P<secret>[^\s/@]{1,256})@"),
    context(
        "authorization",
        "authorization",
        r"authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"'`]?(?:bearer|basic|token|apikey|digest)[ \t]{1,4}"
        r"(?P<secret>[^\s\"'`,\\]{6,16384})",
    ),
    context(
        "authorization",
        "bearer basic ssws",
        r"(?<![\w-])(?:ssws[ \t]{1,4}(?P<ssws>00[\w-]{38,64})"
        r"|bearer[ \t]{1,4}(?P<bearer>(?=[^\s0-9]{0,256}[0-9])[\w.~+/=-]{8,16384})"
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
        "secret",
        "dockerconfigjson",
        r"dockerconfigjson[\"']?[ \t]{0,2}:[ \t]{0,4}[\"']?(?P<secret>[A-Za-z0-9+/]{20,16384}={0,2})",
    ),
    context(
        "secret", "auth", r"[\"']_?auth[\"'][ \t]{0,4}:[ \t]{0,4}[\"'](?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})[\"']"
    ),
    context("secret", "_auth", r"(?<![a-z0-9])_auth[ \t]{0,4}=[ \t]{0,4}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})(?!\S)"),
    # Secrets given to a command as an option.
    context(
        "password",
        "--",
        r"(?<![\w-])--(?:[a-z]{1,16}-){0,3}(?:pass|password|passwd|passphrase|token|api-key|secret)[ \t]{1,4}[\"']?"
        r"(?P<named>(?=[^\s0-9]{0,256}[0-9])(?![0-9]{1,6}(?!\S))[^\s\"']{4,512})",
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
        r"(?:(?i:identified[ \t]{1,4}(?:with[ \t]{1,4}[\w'\"]{1,64}[ \t]{1,4})?(?:by|as)"
        r"|(?:with|encrypted|login|[(,])[ \t]{1,4}password"
        r"|(?:create|alter)[ \t]{1,4}(?:user|role|login)[ \t]{1,4}[\w.\"]{1,64}[ \t]{1,4}password)|PASSWORD)[ \t]{1,4}"
        r"'(?P<secret>[^'\n]{1,512})'"
        r"|(?i:set[ \t]{1,4}password[ \t]{1,4}for)[^=\n]{1,128}=[ \t]{0,4}'(?P<set>[^'\n]{1,512})'",
        re.NOFLAG,
    ),
    # Calls that are given a password, or the name of one with what it is without it.
    context(
        "password",
        "password passwd pwd",
        r"(?:password|passwd|pwd)(?:\(|[\"']\][ \t]{0,2}(?:\|\||\?\?)[ \t]{0,2}|[ \t]{1,2}(?:\|\||\?\?)[ \t]{1,2})"
        r"[\"'](?!\w{0,32}password)(?P<secret>[^\s\"']{0,511}[^\s\"':?])[\"']"
        r"|(?:getenv|environ\.get|set_?default|set_?property|define|putenv)\([\"'][\w.-]{0,64}(?:password|passwd|pwd)"
        r"[\"'],[ \t]{0,4}[\"'](?P<otherwise>[^\s\"']{1,512})[\"']",
    ),
    context(
        "password",
        "auth",
        r"(?<![^\W_])auth[ \t]{0,2}=[ \t]{0,2}\([ \t]{0,2}[\"'][^\"'\n]{1,128}[\"'],[ \t]{0,4}"
        r"[\"'](?P<secret>[^\"'\n]{1,512})[\"']",
    ),
    context(
        "password",
        "requirepass",
        rf"{FIRST}requirepass[ \t]{{1,4}}[\"']?(?P<secret>[^\s\"']{{1,512}})[\"']?[ \t]{{0,8}}(?![^{LINE_ENDS}])",
        re.NOFLAG,
    ),
    # A variable that is set without a sign.
    context(
        "secret",
        "set env",
        r"(?<![\w-])(?:set[ \t]{1,4}-[a-zA-Z]{1,4}|setx|setenv|(?-i:ENV)|config(?:ure)?[ \t]set)[ \t]{1,4}"
        r"[\w./:-]{0,80}?(?:pass|password|passwd|pwd|token|secret|_key)[ \t]{1,4}[\"']?(?P<secret>[^\s\"'$]{6,512})",
    ),
    # A value with blanks in it, between the signs of a connection string.
    context(
        "password",
        "password pwd",
        rf"(?:;[ \t]{{0,4}}(?:password|pwd)=(?P<inner>{_PARTED_VALUE})(?=[;\"'`])"
        rf"|(?<![\w-])(?:password|pwd)(?:=(?P<first>{_PARTED_VALUE})(?=;[ \t]?[A-Za-z][\w ]{{0,40}}=)"
        rf"|[ \t]=[ \t](?P<spaced>{_PARTED_VALUE})(?=;[ \t]?{_OF_A_CONNECTION}[\w ]{{0,40}}=)))",
    ),
    *SPEECH,
)

_HINTS: Final = (
    *("pass", "pwd", "kennwort", "senha", "heslo", "wachtwoord", "adgangskode", "salasana"),
    *("bearer", "ssws", "phrase", "mnemonic", "words", "clave", "contrasena", "mdp"),
)
_HINTS_BY_MARK: Final = (
    (":", ("auth", "43", ":*:", "value", "private-lines", "recovery", "backup", '"kty"', "docker", "zugangsdaten")),
    (":", ("2fa", "otp", "mfa", "setup", "cred")),
    ("\n", ("key", "token", "secret", "credential", "psk", "sessid", "connect.sid", "authorization")),
    (" is", ("pw is",)),
    *KEY_SAID,
    ("-", ("--", "-u", "curl", "mysql", "redis", "docker", "mongo", "zip", "ldap", "sudo")),
    ("set", ("token", "secret", "_key")),
    ("env", ("token", "secret", "_key")),
    ("'", ("identified",)),
    ("/", ("hook", "with/key", "open-apis")),
    ("=", ("auth", "value", "cookie", "sig", "key=", "code=", "basic")),
    ("|", ("key", "token", "secret")),
    ("@", ("://", "thin:", "proxy", "postgres", "mysql", "mariadb", "redis", "amqp", "mongodb")),
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
    return tuple(_found(CONTEXTS, text, folded))


def surrounds_a_secret(text: str, folded: str) -> bool:
    """Tell whether a text has any surroundings of a secret, be they in a line or in more than one."""
    return hints_at_a_secret(folded) and any(_found((*CONTEXTS, *SPANNING), text, folded))


def _found(kinds: tuple[ContextShape, ...], text: str, folded: str) -> Iterator[ContextShape]:
    return (shape for shape in kinds if holds_any(folded, shape.literals) and shape.pattern.search(text))


def compile_shapes() -> None:
    """Compile all surroundings now, so that no text waits for those that it is the first to need."""
    for shape in (*CONTEXTS, *SPANNING):
        _ = shape.pattern


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
