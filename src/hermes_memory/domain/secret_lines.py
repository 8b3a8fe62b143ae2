"""Secrets that are known by what stands around them, where that may be more than one line.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hermes_memory.domain.secret_names import ACCESS, ACCESS_WORDS, BLANK, BLANKS, KEYS


@dataclass(frozen=True, kw_only=True)
class ContextShape:
    """Secrets in one kind of surroundings.

    Attributes:
        kind: Names them in the mark that takes a secret's place.
        literals: In lower case; a text without any of them holds no such surroundings.
        regex: The surroundings; its one group that matches is the secret.
        flags: How it is read.
    """

    kind: str
    literals: tuple[str, ...]
    regex: str
    flags: re.RegexFlag

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The surroundings, compiled when a text first has one of the literals: most processes read none that has."""
        return re.compile(self.regex, self.flags)


_SPOKEN: Final = (
    r"(?!\S{0,128}?\[redacted:)(?!(?i:sha|md5|o?auth|base64|bcrypt|argon|utf|ascii|aes|v[0-9]|~?/|1password(?!\w)"
    # How long it is, or for how long it is one.
    r"|[0-9]{1,3}-?(?:char|digit|letter|word|bit|day|week|month|year|zeichen|stellig|tage|monat|jahr)))"
    r"(?=[^\s]{0,64}[0-9])(?=[^\s]{0,64}[^\W\d_])"
)
SPOKEN_VALUE: Final = rf"{_SPOKEN}[^\s\"'“”]{{3,127}}[^\s\"'“”.,;:!?)\]]"
"""One word with a letter and a digit in it: what people say is a password, or to the next mark of a sentence."""
_OF_A_KEY: Final = r"[\w+/=.~-]"
SPOKEN_KEY: Final = (
    # What has neither a capital nor a dash is no name of words.
    rf"(?={_OF_A_KEY}{{0,128}}[0-9])(?={_OF_A_KEY}{{0,128}}[A-Za-z])"
    rf"(?:(?=(?-i:(?:[^\WA-Z]|[+/=.~-]){{0,128}}[A-Z]))|(?!{_OF_A_KEY}{{0,512}}[_-])){_OF_A_KEY}{{16,512}}"
)
"""One word that is long enough for a key, and of a mixture that names of words do not have."""
SPOKEN_OF: Final = " ".join((*(word.rpartition(" ")[2] for word in ACCESS_WORDS), "passcode", "-pass", "_pass"))
"""The literals of shapes that have a word for a password in them."""
OWNER: Final = (
    r"(?:for|of|für|von|vom|zum|para|de|del|pour|du|per|для|от|voor|till)(?:[ \t]{1,4}[\w@./'’-]{1,40}){1,5}?"
)
"""Whose secret it is."""


def context(
    kind: str, literals: str | tuple[str, ...], pattern: str, flags: re.RegexFlag = re.IGNORECASE
) -> ContextShape:
    """Return a shape. Its literals may be words parted by blanks, and a blank of its pattern is any blank."""
    named = tuple(literals.split()) if isinstance(literals, str) else literals
    return ContextShape(kind=kind, literals=named, regex=pattern.replace(r"[ \t]", BLANK), flags=flags)


LINE_ENDS: Final = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""All that parts the lines in which secrets are looked for."""
_WORD: Final = r"[^\s]{1,256}\s{1,16}"

FIRST: Final = rf"(?<![^{LINE_ENDS}])[ \t]{{0,16}}"
_LINE_OVER: Final = r"(?=[ \t]{0,8}\r?\n)"
_MACHINE: Final = rf"machine\s{{1,16}}(?:[\w-]{{1,64}}\.[\w.-]{{1,256}}|localhost|[\w.-]{{1,256}}{_LINE_OVER})"
_NETRC: Final = context(
    "password",
    "password",
    rf"(?:(?<![\w-]){_MACHINE}|{FIRST}default{_LINE_OVER})"
    rf"\s{{1,16}}(?:login|account)\s{{1,16}}{_WORD}(?:account\s{{1,16}}{_WORD})?"
    r"password\s{1,16}(?P<secret>[^\s]{1,256})"
    # Without a login only the lines tell: wrapped prose has such words too, but goes on behind them.
    rf"|{FIRST}{_MACHINE}[ \t]{{0,8}}\r?\n\s{{0,16}}"
    rf"password\s{{1,16}}(?P<alone>[^\s]{{1,256}})"
    rf"(?=(?:[ \t]{{1,8}}(?:login|account)[ \t]{{1,8}}[^\s]{{1,256}})?[ \t]{{0,8}}(?![^{LINE_ENDS}])|[ \t]{{1,8}}#)",
)
_VALUE_END: Final = r"(?![^\s\"'<>\\,;)}\]])"
_NO_VALUE: Final = (
    rf"(?:str|string|secretstr|bool|boolean|int|integer|bytes|any|optional|required)(?:\[|{_VALUE_END})"
    r"|(?:var|local|module|secrets|env)\.|!(?:Ref|Sub|GetAtt|ImportValue)\s"
)
"""A type, or where the value is fetched from."""
_PAIR: Final = context(
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
_PUTTY: Final = context(
    "private-key",
    "private-lines:",
    r"private-lines:[ \t]{0,4}[0-9]{1,4}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z)){1,400}+)",
)
_OTHERWISE_BELOW: Final = (
    r"(?:[0-9]?password|lastpass|oauth|ssh-|[a-z]{2,16}://|[\w.-]{1,64}(?::|=[^=\s])|[\w.]{1,64}\("
    r"|[^\s]{0,128}\[redacted:)"
)
"""A manager of passwords, a public key, an address, a name with its own sign, a call, or what was looked into."""
_TELLING: Final = (
    "without|ohne|sans|no|forgotten|lost|missing|wrong|expired|old|rotated|that|which|ha(?:s|ve)|needs?|to|re-?set|changed?"
    "|if|with|by|who|all|where|how"
)
"""Words before a name that tell of whatever has such a secret: it is listed below."""
_LISTED: Final = (
    rf"\r?\n[ \t]{{0,16}}(?:[\w.@-]{{1,256}}|[^\s]{{0,128}}\[redacted:[^\s]{{0,128}})[ \t]{{0,8}}(?![^{LINE_ENDS}])"
)
"""One more word on a line of its own, in which something may have been found since."""


def _below(kind: str, literals: str, name: str, value: str) -> ContextShape:
    """Return the shape of a name with a colon at the end of a line, and a value that is all of the next one.

    A name with words before it may as well be the heading of a list.
    """
    return context(
        kind,
        literals,
        # A condition of a program ends with a colon as well.
        rf"{FIRST}(?=[^\n]{{1,400}}?[:：][^\n]{{0,24}}\n)"
        rf"[-*>#•]{{0,6}}[ \t]{{0,4}}(?!(?:if|elif|while|unless|assert)\b)"
        rf"(?P<words>(?:(?!(?:{_TELLING})[ \t])[\w@.'’-]{{1,40}}[ \t]{{1,4}}){{1,5}}?)?[\w-]{{0,40}}?(?:{name})"
        rf"(?:[ \t]{{1,4}}(?:{OWNER}))?(?:[ \t]{{1,4}}(?:is|ist|es|est))?"
        # What ends in a bar is a text in YAML, which begins on the next line.
        r"[\"'`]?\*{0,3}[ \t]{0,4}[:：]\*{0,3}(?:[ \t]{0,4}[|>][+-]?)?[ \t]{0,8}\r?\n"
        r"(?:[ \t]{0,8}\r?\n)?(?:[ \t]{0,8}`{3}\w{0,16}[ \t]{0,8}\r?\n)?[ \t]{0,16}>?[ \t]{0,4}[`\"'“]?"
        rf"(?!{_OTHERWISE_BELOW})(?P<secret>{value})[`\"'”]?[ \t]{{0,8}}(?![^{LINE_ENDS}])(?(words)(?!{_LISTED}))",
    )


_PASSWORD_BELOW: Final = _below("password", SPOKEN_OF, ACCESS, rf"{_SPOKEN}[^\s\"'`“”]{{3,127}}[^\s\"'`“”.,;:)\]]")
_KEY_BELOW: Final = _below(
    "secret", "secret token key psk credential sessid connect.sid authorization", KEYS, SPOKEN_KEY
)

_ARGUMENT: Final = r"(?:[^\n|;&]|(?<=\\)\n|(?<=\\\r)\n|&(?=\w))"
"""A character between a command and its option. The `&` of an address ends no command, nor does an escaped line end."""
_TO_OPTION: Final = rf"[ \t]{_ARGUMENT}{{0,400}}?(?<=[{BLANKS}\n])"
_CURL: Final = context(
    "password",
    "curl",
    rf"(?<![\w-])curl{_TO_OPTION}"
    r"(?:-[A-Za-z]{0,8}[uU][ \t]{0,4}|--(?:proxy-)?user(?:[ \t]{1,4}|=))"
    r"(?:\"[^\s:\"'/\[]{1,128}:(?P<quoted>(?!//)[^\"\n]{1,256})\"|[\"']?[^\s:\"'/\[]{1,128}:"
    r"(?P<pair>(?!//)(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256}))",
    re.NOFLAG,
)
_COMMAND: Final = context(
    "password",
    "sshpass mysql redis-cli docker mongo zip ldap",
    rf"(?<![\w-])(?:sshpass[ \t]{{1,4}}-p[ \t]{{0,4}}"
    rf"|mysql(?:dump|admin)?{_TO_OPTION}-p(?![ \t])"
    rf"|(?:mongo(?:sh|dump|restore|import|export)?|docker[ \t]{{1,4}}login){_TO_OPTION}-p[ \t]{{1,4}}"
    rf"|redis-cli{_TO_OPTION}-a[ \t]{{1,4}}|(?:un)?zip{_TO_OPTION}-P[ \t]{{0,4}}"
    rf"|ldap(?:search|modify|add|delete|whoami){_TO_OPTION}-w[ \t]{{1,4}})"
    r"[\"']?(?P<secret>[^\s\"']{1,256})",
    re.NOFLAG,
)
_PIPED: Final = context(
    "password",
    "sudo chpasswd password-stdin",
    r"(?<![\w-])(?:echo|printf)[ \t]{1,4}[\"']?(?:[\w.-]{1,64}:)?"
    r"(?P<secret>[^\s\"'|$<]{1,256})[\"']?[ \t]{0,4}\|[ \t]{0,4}"
    rf"(?:sudo[ \t]{{1,4}}-S|(?:sudo[ \t]{{1,4}})?chpasswd|[a-z-]{{1,32}}{_TO_OPTION}--password-stdin)",
    re.NOFLAG,
)
_SEED_WORD: Final = r"(?:[0-9]{1,2}[.)][ \t]{0,2})?[a-z]{3,8}"
_SEED: Final = context(
    "seed-phrase",
    "phrase mnemonic words",
    r"(?:(?:seed|mnemonic|recovery)[ \t](?:phrase|words)|mnemonic)[\"']?[ \t]{0,4}(?:is|are|:|=)\s{0,4}[\"']?"
    rf"(?P<secret>{_SEED_WORD}(?:(?:[ \t,]{{1,2}}|\s{{1,4}}(?=[0-9])){_SEED_WORD}){{11,23}})",
)
_CODE: Final = r"(?=[a-z]{0,5}[0-9])[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,8}(?![\w-])"
_CODES: Final = context(
    "recovery-code",
    "recovery backup",
    r"(?:recovery|backup)[ \t_-](?:code|key)s?[ \t]{0,4}:\s{0,4}"
    rf"(?P<secret>{_CODE}(?:[\s,;]{{1,4}}{_CODE}){{0,23}})",
)
_AWS: Final = context(
    "secret",
    "akia",
    r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}[\"']?[\s,;:/|]{1,8}[\"']?(?P<secret>(?=[^A-Z\s]{0,64}[A-Z])[A-Za-z0-9/+]{40})(?![\w/+=])",
    re.NOFLAG,
)
_JWK: Final = context(
    "private-key",
    '"kty"',
    r"\"(?:d|k|p|q|dp|dq|qi)\"\s{0,4}:\s{0,4}\"(?P<secret>[\w-]{20,4096})\"",
    re.NOFLAG,
)
_CELL: Final = (
    r"(?!(?i:sha|md5|o?auth|base64|bcrypt|argon|scrypt|utf|ascii|aes|v[0-9]|1password|iso|rfc|[~./$]"
    r"|(?:n?var)?char|n?text|u?int|float|string))"
    r"(?=[^\s|<>]{0,64}[0-9])(?=[^\s|<>]{0,64}[^\W\d_])[^\s|<>\"'`(){}\[\]]{5,256}"
)
"""The value in a cell of a table: a word with a letter and a digit in it, as the heading of a column is not."""


def _cells(kind: str, literals: str, name: str, value: str) -> tuple[ContextShape, ...]:
    """Return the shapes of a name in one cell of a table and its value in the next, in Markdown and in HTML."""
    named = rf"(?:[\w.-]{{1,40}}[ \t]{{1,2}}){{0,2}}?[\w-]{{0,40}}?(?:{name})"
    return (
        context(
            kind,
            literals,
            rf"(?<![^|{LINE_ENDS}])[ \t]{{0,16}}[*_`]{{0,3}}{named}[*_`:]{{0,4}}"
            rf"[ \t]{{0,16}}\|[ \t]{{0,16}}[*_`]{{0,3}}(?P<secret>{value})"
            rf"[*_`]{{0,3}}[ \t]{{0,16}}(?=\||(?![^{LINE_ENDS}]))",
        ),
        context(
            kind,
            "</td> </th> </dt>",
            rf"<(?:t[dh]|dt)(?:\s[^<>]{{0,128}})?>\s{{0,16}}(?:<\w{{1,8}}>)?{named}:?(?:</\w{{1,8}}>\s{{0,16}}){{1,2}}"
            rf"<(?:td|dd)(?:\s[^<>]{{0,128}})?>\s{{0,16}}(?:<\w{{1,8}}>)?(?P<secret>{value})(?=\s{{0,16}}</)",
        ),
    )


_LOGIN: Final = context(
    "password",
    "pass",
    rf"{FIRST}[-*>#•]{{0,3}}[ \t]{{0,4}}\*{{0,3}}"
    r"(?:user(?:[ \t_-]?name)?|login|e-?mail|benutzer(?:name)?|usu[aá]rio|identifiant|логин)"
    r"\*{0,3}[ \t]{0,4}[:=]\*{0,3}[ \t]{0,4}[\w.@+-]{1,128}[ \t]{0,8}\r?\n[ \t]{0,16}[-*>#•]{0,3}[ \t]{0,4}\*{0,3}"
    r"(?:pass[ \t]{0,4}:\*{0,3}[ \t]{1,4}(?!\S{0,256}?\[redacted:)"
    r"(?P<passed>(?!(?:pass|fail|skip|yes|no|ok|true|false|none|[0-9]{1,5})(?!\w))[^\s\"'<>]{3,256})"
    rf"|password[ \t]{{1,4}}(?P<secret>{SPOKEN_VALUE}))[ \t]{{0,8}}(?![^{LINE_ENDS}])",
)
"""Who it is on one line, and what proves it on the next."""
SPANNING: Final = (
    *_cells("password", SPOKEN_OF, ACCESS, _CELL),
    *_cells("secret", "key token secret", rf"(?:{KEYS})(?:(?<=key)|(?<=token)|(?<=secret))", SPOKEN_KEY),
    *(_LOGIN, _NETRC, _PAIR, _PUTTY, _PASSWORD_BELOW, _KEY_BELOW, _CURL, _COMMAND, _PIPED, _SEED, _CODES, _AWS, _JWK),
)
"""The surroundings that may span lines."""
