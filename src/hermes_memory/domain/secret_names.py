"""Names that mark a value as a secret, and values that are none whatever their name.

Every quantifier is bounded, so that no text makes matching slower than linear.
"""

from __future__ import annotations

import re
from typing import Final

ACCESS_WORDS: Final = (
    *("password", "passwort", "passwd", "passphrase", "pwd", "kennwort", "mot de passe", "contraseña", "senha"),
    *("hasło", "heslo", "wachtwoord", "lösenord", "adgangskode", "salasana", "jelszó", "şifre", "mật khẩu"),
    *("passord", "palavra-passe"),
    *("пароль", "كلمة السر", "كلمة المرور", "סיסמה", "密码", "密碼", "パスワード", "비밀번호"),
)
"""How a password is called, in lower case."""
ACCESS: Final = rf"{'|'.join(ACCESS_WORDS)}|(?<=[_-])pass"
"""The pattern of such a word, also in speech."""
_OWNERS_IN_ONE_WORD: Final = (
    "account|admin|api|app|auth|basic|client|conn|database|db|default|email|ftp|host|http|imap|key|keystore|ldap|login"
    "|mail|mongo|my|mysql|new|old|pg|postgres|proxy|redis|root|server|service|smtp|sql|ssh|store|truststore|user|wifi"
)
"""What is written in one word with "pass". There is no compass, bypass or trespass among them."""
_OWNED: Final = rf"(?:{_OWNERS_IN_ONE_WORD})pass"
_ALONE: Final = r"(?<![^\W_])pass"
_SHORT: Final = r"(?<![^\W_])pw"
_ASSIGNED: Final = rf"{ACCESS}|{_OWNED}|(?P<lone>{_ALONE}(?=[0-9_]{{0,3}}(?:\\?[\"'`]|=[^\s=]))|{_SHORT})"
"""In speech "pass" alone is no password: only with its sign right behind it, or in quotes."""
_KEY_OWNERS: Final = (
    "access|account|admin|app|application|auth|client|deploy|encryption|hmac|host|jwt|license|master|private|root"
    "|secret|service|shared|signing|ssh|storage|subscription|webhook"
)
KEYS: Final = (
    rf"secret|token|api[ _-]?key|(?:{_KEY_OWNERS})[ _-]?key|key[_-](?:data|base)|(?<![^\W_])psk|credentials?"
    r"|phpsessid|jsessionid|connect\.sid|authorization"
)
"""The pattern of the names of other secrets."""
NAME_ENDINGS: Final = (
    *ACCESS_WORDS,
    *("pass", "pw", "secret", "token", "key", "key-data", "key_data", "key-base", "key_base", "psk"),
    *("credential", "credentials", "phpsessid", "jsessionid", "connect.sid", "authorization", "auth"),
)
"""In lower case: how every name ends that `ASSIGNMENT` and `NAME` know, and some others."""
_UNUSUAL_BLANKS: Final = "\xa0\xad\u1680\u202f\u205f\u2060\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200E)))
BLANKS: Final = f" \t{_UNUSUAL_BLANKS}"
"""What parts words within a line: some of it is not seen."""
BLANK: Final = f"[{BLANKS}]"
"""The pattern of one of them."""
NAME_TAIL: Final = " \t0123456789_\"'`“”„»«’*]\\!" + _UNUSUAL_BLANKS
"""What may stand between such a name and its sign."""
LONGEST_ENDING: Final = 64
"""Characters before a sign in which the end of a name with its tail is looked for."""

_LITERAL: Final = r"[bfrnu@$]{0,2}(?:\"\"(?=\")|''(?='))?(?=\\?[\"'`])"
"""What stands before the last quote with which the literal of a program opens, as in `b"x"` or three quotes."""
_VALUE: Final = (
    rf"(?:{_LITERAL})?"
    r"(?:\\?\"(?P<double>[^\"\\\n]{1,4096})\\?\"|\\?'(?P<single>[^'\\\n]{1,4096})\\?'|`(?P<tick>[^`\n]{1,4096})`"
    rf"|[“„”](?P<curly>[^“”„\n]{{1,4096}})[”“]|[«»]{BLANK}?(?P<angled>[^«»\n]{{1,4096}})[»«]|‘(?P<high>[^‘’\n]{{1,4096}})’"
    r"|\\?[\"'](?P<open>[^\s\"'\\)\]},.;:+%][^\s\"'\\]{0,4095})"
    r"|(?P<bare>(?![bfrnu@$]{1,2}\\?[\"'])[^\s\"'`,;&<>\\][^\s\"',;&<>]{0,4095}))"
)
_TYPE: Final = (
    r"&?(?:'static\x20)?(?:[a-z]\w{0,15}[\[<]){0,2}(?:str|string|bytes|secretstr|any|final|text)\b[\w\]>|? ]{0,24}?"
)
"""What the name of a literal is declared to be."""
ASSIGNMENT: Final = re.compile(
    rf"(?:(?P<password>{_ASSIGNED})|(?P<key>{KEYS}))[0-9_]{{0,3}}\\?(?:[\"'`”“’]\]?|{BLANK}?[»«])?\*{{0,3}}"
    rf"(?P<sign>(?:{BLANK}{{0,4}}:{BLANK}{{0,4}}{_TYPE}|(?<=[a-z])\x20string){BLANK}{{0,4}}={BLANK}{{0,4}}(?={_LITERAL})"
    rf"|{BLANK}{{0,8}}(?:=>|:=|!={{1,2}}){BLANK}{{0,8}}|{BLANK}{{1,8}}[=＝]{{1,3}}{BLANK}{{1,8}}"
    rf"|{BLANK}{{0,8}}[=＝]{{1,3}}(?![{BLANKS}=])"
    rf"|{BLANK}{{0,8}}[:：](?:\*{{1,3}}(?![*.!?)\]}}])|_{{1,2}}(?={BLANK})|</\w{{1,8}}>)?{BLANK}{{0,8}})"
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""A secret's name with the value given to it: in code, configuration, JSON, connection strings or speech."""
NAME: Final = re.compile(
    rf"(?:(?P<password>{ACCESS}|{_OWNED}|(?P<lone>{_ALONE}|{_SHORT}))|(?P<key>{KEYS}|(?P<auth>(?<![^\W_])auth)))"
    r"[0-9_]{0,3}\Z",
    re.IGNORECASE,
)
"""The end of the name of a value that is a secret; of one under `lone` or `auth` it may be."""
SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|digest)\s{1,4}(?=\S{6,16384}\Z)", re.IGNORECASE)
"""What stands before the secret in the value of an `Authorization` header (RFC 9110, 11.4)."""
METHOD: Final = re.compile(
    r"(?:oauth|ntlm|saml|x509|aws4|m?tls|sasl|scram|sha|md5|oidc|jwt|http|v[0-9])[\w.-]*"
    r"|[a-z][a-z0-9-]{0,63}(?:\.[a-z0-9-]{1,63}){1,8}/v[0-9]\w{0,16}",
    re.IGNORECASE,
)
"""Names how somebody proves who it is, or the version of an interface that asks for it, and is no secret."""

PLACEHOLDER: Final = re.compile(
    r"\[redacted:[\w-]{1,64}\].*|<[^<>]{0,128}>?|\[[\w ]{0,64}\]?|\{.*"
    r"|\$(?:\{.*|\(.*|[A-Za-z_]{1,64}|[A-Z_][A-Z0-9_]{0,63}|[0-9]{1,2})|%(?:\(.*|env\(.*|\w{0,64}%|(?![2-7][0-9A-Fa-f]\w{2})\w{0,64})"
    r"|\*{1,64}[.!?]?|(?P<same>.)(?P=same){2,}|\.{2,}|\|[+-]?|[?–—-]{1,2}|!(?:vault|secret|ref)"
    r"|[Yy](?:our|OUR)(?:[_ -].*)?"
    r"|(?i:none|null|nil|undefined|true|false|redacted|hidden|masked|x{3,}[\w-]{0,64})",
    re.DOTALL,
)
"""Stands where a secret would be, such as `<password>`, `$PASSWORD`, `***` or our own mark."""

TOLD: Final = re.compile(
    r"\(?(?:none|hidden|n/?a|tb[acd]|todo|yes|no|same|changed|unchanged|unknown|forgotten|disabled|enabled|empty|expired"
    r"|missing|optional|required(?:\|.*)?|min|minimum|maximum|[0-9]{1,2}\+|string|geändert|leer|mindestens|unbekannt"
    r"|vergessen|oublié|changé|inconnu|olvidada|mínimo|see|siehe)[.!?)]{0,2}",
    re.IGNORECASE,
)
"""What is said of a password instead of the password."""

OPERATORS: Final = ("await", "delete", "new", "typeof", "void", "yield")
"""Words of a program with which an expression begins."""

MARKED_WITHIN: Final = re.compile(rf"[=:＝：>][{BLANKS}*\\\"'`“„«‘‚]{{0,16}}\[redacted:(?:password|secret)\b")
"""A mark behind the sign of its own name: what holds one has been looked into, and is longer for it."""

CODE: Final = re.compile(
    r"\$?[A-Za-z_][\w.]{0,255}[(\[].*"
    r"|(?:self|os|config|cfg|settings|env|environ|process|args|opts|options|request|req|this|ctx|credentials?)(?:\.\w.*)?"
    r"|(?:str|string|bytes|int|bool|optional|secretstr|any)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""An expression of a program that fetches a secret or declares its type, without showing it."""
