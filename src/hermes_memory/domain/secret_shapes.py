"""The shapes of common secrets.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear. The shapes are those that the issuers of the tokens document.
"""

from __future__ import annotations

import re
from typing import Final

_TOKENS: Final = {
    "aws-key-id": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "github-token": r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}",
    "gitlab-token": r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt)-[\w-]{16,255}",
    "slack-token": r"xox[abeoprs]-[\w-]{10,255}|xapp-[\w-]{10,255}",
    "anthropic-key": r"sk-ant-[\w-]{16,255}",
    "api-key": (
        r"sk-(?:proj|svcacct|admin|or|lf|None)-[\w-]{16,255}|sk-[A-Za-z0-9]{20,255}|gsk_[A-Za-z0-9]{20,255}"
        r"|pplx-[A-Za-z0-9]{20,255}|xai-[A-Za-z0-9]{20,255}|r8_[A-Za-z0-9]{20,255}|nvapi-[\w-]{20,255}"
    ),
    "google-key": r"AIza[\w-]{30,45}|ya29\.[\w-]{20,1024}|GOCSPX-[\w-]{20,64}",
    "stripe-key": r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{20,255}",
    "npm-token": r"npm_[A-Za-z0-9]{30,64}",
    "pypi-token": r"pypi-Ag[\w-]{16,1024}",
    "huggingface-token": r"hf_[A-Za-z0-9]{20,255}",
    "sendgrid-key": r"SG\.[\w-]{16,64}\.[\w-]{16,128}",
    "twilio-key": r"(?:AC|SK)[0-9a-f]{32}(?![A-Za-z0-9])",
    "telegram-token": r"[0-9]{8,12}:[\w-]{35}(?![\w-])",
    "discord-token": r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,64}",
    "jwt": r"eyJ[\w-]{8,4096}\.eyJ[\w-]{8,16384}\.[\w-]{8,4096}",
    "vault-token": r"hv[bs]\.[\w-]{20,512}",
    "cloud-token": (
        r"do[opr]_v1_[0-9a-f]{40,64}|dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|lin_api_[A-Za-z0-9]{20,64}"
        r"|ntn_[A-Za-z0-9]{20,64}|gls?[ac]_[A-Za-z0-9_+/=]{20,255}|ATATT3[\w=-]{20,512}|figd_[\w-]{20,128}"
        r"|sbp_[0-9a-f]{20,64}|PMAK-[\w-]{20,128}|dp\.(?:pt|st|ct|sa)\.[\w.-]{20,128}|tskey-[\w-]{16,128}"
    ),
    "age-key": r"AGE-SECRET-KEY-1[A-Z0-9]{20,80}",
}
TOKEN: Final = re.compile(
    r"(?<![\w-])(?:" + "|".join(f"(?P<{kind.replace('-', '_')}>{shape})" for kind, shape in _TOKENS.items()) + ")",
    re.ASCII,
)
"""A token that its issuer marks by a prefix. The group that matched names its kind, with `_` for `-`."""

URI_PASSWORD: Final = re.compile(r"://[^\s/:@?#\"<>\[]{0,256}:(?P<secret>[^\s/?#\"<>]{1,512})@(?=[^\s@])")
"""The password in the userinfo of a URI (RFC 3986, 3.2.1), up to the last `@` before the path."""

AUTHORIZATION: Final = re.compile(
    r"authorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?:bearer|basic|token|apikey|digest)[ \t]{1,4}"
    r"(?P<secret>[^\s\"',\\]{6,16384})",
    re.IGNORECASE,
)
BEARER: Final = re.compile(
    r"(?<![\w-])(?:bearer[ \t]{1,4}(?P<bearer>(?=[^\s0-9]{0,256}[0-9])[\w.~+/=-]{8,16384})"
    r"|basic[ \t]{1,4}(?P<basic>[A-Za-z0-9+/]{8,1024}={1,2}))",
    re.IGNORECASE,
)
SIGNATURE: Final = re.compile(r"[?&](?:sig|signature|x-amz-signature)=(?P<secret>[\w%+/=.-]{20,1024})", re.IGNORECASE)
ELEMENT: Final = re.compile(
    r"<[\w:.-]{0,64}(?:password|passwd|secret|token|api[_-]?key)>(?P<secret>[^<>\s]{1,1024})</", re.IGNORECASE
)
WEBHOOK: Final = re.compile(
    r"(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{20,256})", re.IGNORECASE
)

_ACCESS_WORDS: Final = (
    "password|passwort|passwd|passphrase|(?<=[_-])pass|pwd|kennwort|mot de passe|contraseña|senha|hasło|пароль"
    "|密码|密碼|パスワード|비밀번호"
)
_KEY_NAMES: Final = (
    "secret|token|api[_-]?key|(?:access|account|auth|encryption|license|master|private|secret|signing|service)[_-]?key"
    "|credentials?"
)
_VALUE: Final = (
    r"(?:\\?\"(?P<double>[^\"\\\n]{1,4096})\\?\"|\\?'(?P<single>[^'\\\n]{1,4096})\\?'|`(?P<tick>[^`\n]{1,4096})`"
    r"|\\?[\"'](?P<open>[^\s\"'\\]{1,4096})|(?P<bare>[^\s\"'`,;&<>\\][^\s\"',;&<>]{0,4095}))"
)
ASSIGNMENT: Final = re.compile(
    rf"(?:(?P<password>{_ACCESS_WORDS})|(?P<key>{_KEY_NAMES}))[0-9_]{{0,3}}\\?(?:[\"'`]\]?)?"
    r"(?P<sign>[ \t]{0,8}(?:=>|:=)[ \t]{0,8}|[ \t]{1,8}={1,3}[ \t]{1,8}|[ \t]{0,8}={1,3}(?![ \t=])"
    r"|[ \t]{0,8}[:：][ \t]{0,8})"
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""A secret's name with the value given to it: in code, configuration, JSON, connection strings or speech."""

OPTION: Final = re.compile(
    r"(?<![\w-])(?:--(?:password|passwd|token|api-key|secret)[ \t]{1,4}[\"']?"
    r"(?P<named>(?=[^\s0-9]{0,256}[0-9])[^\s\"']{4,512})"
    r"|(?:-u|--user)[ \t]{1,4}[\"']?[^\s:\"'/\[]{1,128}:(?P<pair>(?![0-9]{1,10}(?:\s|$))[^\s\"']{1,256}))"
)
"""A secret given to a command as an option."""

PRIVATE_KEY_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
PRIVATE_KEY_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
KEY_LINE: Final = re.compile(
    r"[\s>|#\"'+]{0,64}[A-Za-z0-9+/=]{0,16384}(?:\\n)?[\s\"',+]{0,8}|[A-Za-z-]{1,32}: [^\n]{0,256}\n?"
)
"""A line inside a private key: base64, or a header such as `Proc-Type: 4,ENCRYPTED`."""
KEY_RUN: Final = re.compile(r"[A-Za-z0-9+/=\\]{0,65536}")
"""What of a private key follows its first line on the same line, with line ends written as an escape."""

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
