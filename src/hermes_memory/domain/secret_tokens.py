"""Tokens that their issuers mark: by a prefix, as most do, or by what stands in their middle.

Every quantifier is bounded and every shape starts at a boundary or at a literal, so that no text makes matching slower
than linear. The shapes are those that the issuers document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenShape:
    """The tokens of one kind.

    Attributes:
        kind: Names it in the mark that takes a token's place.
        literals: A text without any of them holds no token of the kind.
        prefixed: Whether a token begins with one of the literals; otherwise it holds it.
        pattern: What a token looks like.
    """

    kind: str
    literals: tuple[str, ...]
    prefixed: bool
    pattern: re.Pattern[str]


SHORTEST_TOKEN: Final = 15
"""Characters of the shortest token that a shape knows; none holds white space. Few words of prose are so long."""

_ALNUM: Final = r"[A-Za-z0-9]"
_END: Final = r"(?![A-Za-z0-9])"
_HEX32: Final = rf"[0-9a-fA-F]{{32}}{_END}"
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_WITHIN_A_NAME: Final = "(?<![A-Za-z0-9])"
_ALONE: Final = r"(?<![\w-])"
"""Where a token begins: also behind the dash or underscore of a name that it is a part of, or of emphasis. One whose
prefix is no more than a word or two letters begins a run of its own."""

_NOT_SPELT: Final = r"(?=[A-Za-z]{0,64}(?:[0-9]|[A-Z]{2}))"
"""What neither a word nor a name in camel case has, and one token in ten thousand lacks."""
_NO_WORDS: Final = r"(?=[a-z_.-]{0,64}[A-Z0-9]|[a-z]{20})"
"""What tells a token from a name that begins with its prefix, as `fw_upgrade_from_v1` and `glrt-detector-curves` do."""

_REST_OF_RUN: Final = r"[\w-]*+"
"""What follows without a boundary goes with a token: it may be the end of a longer one, and hides none that is left."""

# Kind, prefixes, what follows each of them.
_PREFIXED: Final = (
    ("aws-key-id", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}{_END}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ALNUM}{{20,255}}"),
    ("github-token", "github_pat_", rf"{_NOT_SPELT}(?={_ALNUM}{{10}})[A-Za-z0-9_]{{20,255}}"),
    (
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glagent- gloas- glimt- glffct-",
        rf"{_NO_WORDS}[\w.-]{{16,255}}",
    ),
    (
        "slack-token",
        "xoxa- xoxb- xoxe- xoxe.xox xoxp- xoxr- xoxs- xoxc- xoxd-",
        r"(?=[A-Za-z_%-]{0,64}[0-9])[\w%-]{10,512}",
    ),
    ("slack-token", "xoxo-", r"[0-9]{1,16}-[0-9][\w-]{8,512}"),
    ("slack-token", "xapp-", r"[0-9]{1,2}-[\w-]{8,512}"),
    ("anthropic-key", "sk-ant-", r"[\w-]{16,255}"),
    ("api-key", "sk-proj- sk-svcacct- sk-lf- sk-None- ctx7sk-", r"[\w-]{16,255}"),
    ("api-key", "sk-admin- sk-or- nvapi-", rf"{_NO_WORDS}[\w-]{{16,255}}"),
    ("api-key", "sk- lsv2_pt_ lsv2_sk_", r"(?=[\w-]{0,64}[0-9])[A-Za-z0-9_]{20,255}"),
    ("api-key", "gsk_ pplx- xai- r8_ csk- fw_", rf"{_NOT_SPELT}{_ALNUM}{{20,255}}"),
    ("api-key", "pcsk_ tgp_v1_", rf"{_NO_WORDS}[\w-]{{30,128}}"),
    ("api-key", "e2b_", rf"[0-9a-f]{{40}}{_END}"),
    ("api-key", "sk_", rf"[0-9a-f]{{48}}{_END}"),
    ("api-key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{20,128}"),
    ("google-key", "AIza", r"[\w-]{30,45}"),
    ("google-key", "ya29. GOCSPX-", r"[\w.-]{20,2048}"),
    ("google-key", "1//0", r"[\w-]{40,512}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"(?:{_NOT_SPELT}|(?={_ALNUM}{{20}})){_ALNUM}{{10,255}}"),
    ("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{20,255}"),
    ("npm-token", "npm_", rf"{_ALNUM}{{30,64}}"),
    ("pypi-token", "pypi-AgE", r"[\w-]{16,1024}"),
    ("rubygems-key", "rubygems_", r"[0-9a-f]{40,64}"),
    ("crates-token", "cio", rf"{_ALNUM}{{32}}{_END}"),
    ("nuget-key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    ("docker-token", "dckr_pat_ dckr_oat_", rf"{_NO_WORDS}[\w-]{{20,128}}"),
    ("huggingface-token", "hf_", rf"{_ALNUM}{{20,255}}"),
    ("sendgrid-key", "SG.", r"(?=[\w.-]{0,128}[0-9])[\w-]{16,64}\.[\w-]{16,128}"),
    ("mail-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{32,64}(?:-[A-Za-z0-9]{8,32})?"),
    ("mail-key", "key-", rf"[0-9a-f]{{32}}{_END}"),
    ("twilio-key", "AC SK", rf"[0-9a-f]{{32}}{_END}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{_NO_WORDS}[\w-]{{20,512}}"),
    ("mapbox-token", "sk.eyJ", r"[\w-]{20,512}\.[\w-]{8,128}"),
    ("jwt", "eyJ", r"[\w-]{8,4096}\.(?:eyJ[\w-]{8,16384}\.[\w-]{8,4096}|(?:[\w-]{0,4096}\.){3}[\w-]{8,4096})"),
    ("cloud-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{40,64}"),
    ("cloud-token", "dapi shpat_ shpca_ shppa_ shpss_", _HEX32),
    # Base64 has capitals, and a name in small letters has digits too: `fm2_operator_4_level`.
    ("cloud-token", "fo1_ fm1r_ fm2_", r"(?=[a-z0-9_+/=,-]{0,64}[A-Z])[\w+/=,-]{20,4096}"),
    ("cloud-token", "HRKU-", r"[\w-]{30,128}"),
    ("cloud-token", "LTAI", rf"{_ALNUM}{{12,30}}{_END}"),
    ("cloud-token", "AKID", rf"{_ALNUM}{{32}}{_END}"),
    ("cloud-token", "dt0c01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("cloud-token", "nfp_ napi_", rf"{_NOT_SPELT}{_ALNUM}{{20,128}}"),
    ("cloud-token", "sbp_", rf"(?:oauth_|v[0-9]_)?{_NOT_SPELT}{_ALNUM}{{20,128}}"),
    ("cloud-token", "pscale_tkn_ pscale_pw_ pscale_oauth_ sb_secret_ pul-", rf"{_NO_WORDS}[\w-]{{20,128}}"),
    ("service-token", "lin_api_ lin_oauth_ ntn_ cfpat-", rf"{_ALNUM}{{20,128}}"),
    ("cloud-token", "vercel_blob_rw_", rf"{_NO_WORDS}[A-Za-z0-9_]{{30,128}}"),
    ("service-token", "syt_", r"[A-Za-z0-9=]{1,340}_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    ("service-token", "secret_", rf"{_NOT_SPELT}{_ALNUM}{{20,128}}"),
    ("service-token", "glsa_ glc_", rf"(?={_ALNUM}{{20}})[A-Za-z0-9_+/=]{{20,1024}}"),
    ("service-token", "ATATT3 ATCTT3 ATBB", r"[\w=-]{20,512}"),
    (
        "service-token",
        "figd_ figu_ PMAK- tskey- CCIPAT_ CCIPRJ_ bkua_ bkaj_ CFPAT-",
        rf"{_NO_WORDS}[\w-]{{16,256}}",
    ),
    ("service-token", "tfp_", r"(?=[\w-]{0,64}[0-9])[\w-]{40,256}"),
    (
        "service-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"(?=[\w.-]{0,64}(?:[0-9]|[A-Z]{2}))[\w.-]{20,128}",
    ),
    ("service-token", "NRAK- NRJS- NRII- NRIQ- NRRA-", r"[\w-]{16,64}"),
    ("service-token", "sntrys_ sntryu_ sntrya_", r"[\w+/=-]{20,1024}"),
    ("service-token", "sqp_ squ_ sqa_", rf"[0-9a-f]{{40}}{_END}"),
    ("service-token", "AKCp", rf"{_ALNUM}{{60,80}}"),
    ("service-token", "ops_eyJ", r"[\w+/=-]{40,4096}"),
    ("service-token", "pat-na1- pat-eu1-", _UUID),
    ("service-token", "phx_ rdme_", rf"{_ALNUM}{{20,128}}"),
    ("wallet-key", "xprv yprv zprv tprv", rf"{_ALNUM}{{100,120}}{_END}"),
    ("service-token", "sl.u. sl.B", r"[\w-]{60,2048}"),
    ("payment-token", "sq0atp- sq0csp-", r"[\w-]{20,64}"),
    ("payment-token", "EAAA", r"[\w-]{56,64}(?![\w-])"),
    ("payment-token", "access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("social-token", "EAAC EAAB EAAG EAAJ", rf"{_NOT_SPELT}{_ALNUM}{{60,512}}"),
    ("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{20,80}"),
    ("private-key", "LS0tLS1CRUdJTi", r"(?!BDRVJU|BQVUJMSUMg)[A-Za-z0-9+/=]{20,65536}"),
)

_BEGIN_ALONE: Final = frozenset(["key-", "AC", "SK", "cio", "oy2", "secret_", "1//0", "EAAA", "EAAC", "LTAI", "AKID"])

# Kind, what stands within, the whole.
_INNER: Final = (
    ("telegram-token", ":", r"[0-9]{8,12}:[\w-]{35}(?![\w-])"),
    ("discord-token", ".", r"[MNO](?<![\w-].)[\w-]{22,28}\.[\w-]{6}\.[\w-]{27,64}"),
    ("terraform-token", ".atlasv1.", rf"(?<![\w-]){_ALNUM}{{14}}\.atlasv1\.[\w-]{{40,80}}"),
    ("airtable-token", "pat", rf"(?<![\w-])pat{_ALNUM}{{14}}\.[0-9a-f]{{64}}"),
    ("mail-key", "-us", rf"(?<![\w-])[0-9a-f]{{32}}-us[0-9]{{1,2}}{_END}"),
    ("azure-secret", "Q~", r"(?<![\w~-])[\w.~-]{3}[78]Q~[\w.~-]{31,40}"),
)


def _shapes() -> Iterator[TokenShape]:
    for kind, prefixes, rest in _PREFIXED:
        names = tuple(prefixes.split())
        start = _ALONE if _BEGIN_ALONE.intersection(names) else _WITHIN_A_NAME
        pattern = rf"{start}(?:{'|'.join(map(re.escape, names))}){rest}{_REST_OF_RUN}"
        yield TokenShape(kind=kind, literals=names, prefixed=True, pattern=re.compile(pattern, re.ASCII))
    for kind, within, whole in _INNER:
        pattern = f"{whole}{_REST_OF_RUN}"
        yield TokenShape(kind=kind, literals=(within,), prefixed=False, pattern=re.compile(pattern, re.ASCII))


TOKENS: Final = tuple(_shapes())
"""In the order in which they are looked for: the narrower of two that may overlap comes first."""

_INNER_SIGNS: Final = ("-", "_")
_SEGMENT: Final = re.compile(r"[\w-]+", re.ASCII)
"""What stands between two places where a token may begin."""


def _heads() -> dict[str, tuple[str, ...]]:
    """Return how segments begin in which a token does, by their first character."""
    heads: dict[str, set[str]] = {}
    for shape in TOKENS:
        for literal in shape.literals if shape.prefixed else ():
            head = _SEGMENT.match(literal)
            if head is not None:
                heads.setdefault(literal[0], set()).add(head[0])
    return {first: tuple(sorted(found)) for first, found in heads.items()}


_HEADS: Final = _heads()
_INNER_SHAPES: Final = tuple(shape for shape in TOKENS if not shape.prefixed)
_RUNS: Final = bytes(ord(" ") if chr(code).isspace() else ord("x") for code in range(128)) + b"x" * 128
_LONG_RUN: Final = b"x" * SHORTEST_TOKEN


def suspected_tokens(text: str) -> tuple[TokenShape, ...]:
    """Return the kinds of which a text may hold a token, by a look that spares most texts the search."""
    if text.isascii() and text.encode("ascii").translate(_RUNS).find(_LONG_RUN) < 0:
        return ()
    runs = " ".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN])
    if not runs:
        return ()
    found = [shape for shape in _INNER_SHAPES if shape.literals[0] in runs and shape.pattern.search(runs)]
    if _any_begins(runs):
        found += [shape for shape in TOKENS if shape.prefixed and any(literal in runs for literal in shape.literals)]
    return tuple(found)


def _any_begins(runs: str) -> bool:
    for segment in _SEGMENT.findall(runs):
        heads = _HEADS.get(segment[0])
        if heads is not None and segment.startswith(heads):
            return True
        for sign in _INNER_SIGNS:
            if sign in segment and _begins_within(segment, sign):
                return True
    return False


def _begins_within(segment: str, sign: str) -> bool:
    at = segment.find(sign) + 1
    while 0 < at < len(segment):
        heads = _HEADS.get(segment[at])
        if heads is not None and segment.startswith(heads, at):
            return True
        at = segment.find(sign, at) + 1
    return False
