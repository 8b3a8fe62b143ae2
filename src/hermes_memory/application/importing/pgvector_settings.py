"""The settings of hermes-memory-pgvector under the names that they have here.

That memory takes what is empty or cannot be read as if it were not set. What is empty is left out here too; what cannot
be read is told, so that somebody decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from hermes_memory.domain.endpoint import parse_endpoint
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.identity import IdentityPolicy
from hermes_memory.domain.model import DEFAULT_THEME, SINKS
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.redaction import redact
from hermes_memory.domain.themes import parse_names

Item = TypeVar("Item")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_KEYWORD: Final = re.compile(r"^\s*\w+\s*=")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_CHARS: Final = 40
"""Of a number that is written as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedSettings:
    """What became of the settings.

    Attributes:
        settings: For `hermes-memory.json`.
        dropped: Keys that have no counterpart or need none, and why.
        refused: Keys whose value cannot be taken over, all of it or a part, and what was expected.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def converted(given: Mapping[str, Any]) -> ConvertedSettings:
    """Convert a section of settings. A key that is left out keeps the default of this memory.

    >>> converted({"sync_turns": "false", "ttl_days": 30, "write_contexts": ""}).settings
    {'capture_turns': False}
    """
    result = ConvertedSettings()
    for key, value in given.items():
        if key not in _KNOWN:
            result.refused[key] = "it is no setting of hermes-memory-pgvector: take it out there"
        elif _empty(value):
            continue
        elif key == "dsn":
            _address(value, result)
        elif key in DROPPED:
            result.dropped[key] = DROPPED[key]
        else:
            _rename(key, value, result)
    _choose_embedder({key: value for key, value in given.items() if not _empty(value)}, result)
    return result


def _empty(value: Any) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _address(value: Any, result: ConvertedSettings) -> None:
    result.dropped["dsn"] = (
        "names the old database: give it to `import pgvector --dsn`. This memory has tables of its own; set "
        "HERMES_MEMORY_DSN to the address of the runtime role once `migrate` has made them, in the same database or "
        "another, or leave it out for the embedded one"
    )
    if isinstance(value, str) and _KEYWORD.match(value):
        result.dropped["dsn"] += ". Here an address is a URL: postgresql://user@host/database"


def _rename(key: str, value: Any, result: ConvertedSettings) -> None:
    name, read = RENAMED[key]
    try:
        usable = read(value)
    except ValueError as error:
        result.refused[key] = str(error)
        return
    usable, objections = PARTS.get(name, _whole_value)(usable)
    if key == "allowed_themes" and (sinks := [name for name in _names(value) if _is_sink(name)]):
        result.dropped[key] = f"{', '.join(sinks)}: what belongs there is let in without being listed"
    if not _empty(usable):
        result.settings[name] = usable
    if objections:
        result.refused[key] = "; ".join(objections)


def _choose_embedder(given: Mapping[str, Any], result: ConvertedSettings) -> None:
    """Say which embedder serves: the old one's endpoint, unless it made no vectors."""
    if "embed_on_write" in given:
        try:
            wanted = _flag(given["embed_on_write"])
        except ValueError as error:
            wanted = True
            result.refused["embed_on_write"] = str(error)
        result.dropped.pop("embed_on_write", None)
        if not wanted:
            result.settings["embedder"] = "none"
            return
    if "embedder" not in result.settings and any(key in given for key in ENDPOINT):
        result.settings["embedder"] = "auto"
    if result.settings.get("embedder", "local") != "local":
        for name, default in ENDPOINT.items():
            if name not in result.refused:
                result.settings.setdefault(name, default)
    _require_whole_endpoint(result)


def _require_whole_endpoint(result: ConvertedSettings) -> None:
    """Leave the choice of the embedder to whoever puts right what was refused of its endpoint."""
    missing = [key for key in ENDPOINT if key in result.refused]
    chosen = result.settings.get("embedder", "none")
    if missing and chosen != "none":
        del result.settings["embedder"]
        result.refused[missing[0]] += f'. The model of this machine serves until embedder is "{chosen}" as well'


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError("expected true or false")
    return text in _TRUE


def _number(low: float, high: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        number = _numeric(value)
        if number is None or not low <= number <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}")
        return number

    return read


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _numeric(value)
        if number is None or not low <= number <= high or not number.is_integer():
            raise ValueError(f"expected a whole number from {low:,} to {high:,}")
        return int(number)

    return read


def _numeric(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > _MOST_CHARS:
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _word(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return word

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value.strip()


def _url(value: Any) -> str:
    text = _text(value)
    try:
        parse_endpoint(text)
    except HermesMemoryError as error:
        raise ValueError(str(error)) from None
    return text


def _variable(value: Any) -> str:
    name = _text(value)
    if not _VARIABLE.fullmatch(name) or redact(name).count:
        raise ValueError(
            "expected the name of an environment variable, such as EMBED_KEY: put the key itself into the environment "
            "or .env under that name"
        )
    return name


def _names(value: Any) -> list[str]:
    names = value.split(",") if isinstance(value, str) and not value.lstrip().startswith("[") else value
    if not isinstance(names, list | tuple) or not all(map(_is_name, names)):
        raise ValueError("expected a list of names, or one text with commas")
    return [str(name).strip() for name in names if str(name).strip()]


def _aliases(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping) and all(map(_is_name, (*value.keys(), *value.values()))):
        return {str(name): str(theme) for name, theme in value.items()}
    pairs = [pair.partition("=") for pair in _names(value)] if isinstance(value, str | list) else []
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise ValueError("expected a mapping of names to themes, or one text like name=theme,other=theme")
    return {name.strip(): theme.strip() for name, _, theme in pairs}


def _is_name(value: Any) -> bool:
    # A name of digits is a number to whoever writes YAML.
    return isinstance(value, str | int) and not isinstance(value, bool)


def _whole_value(value: Any) -> tuple[Any, list[str]]:
    return value, []


def _usable_themes(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the themes that can be listed, and what is wrong with the others."""
    # Both memories let in what belongs into a sink, whatever the list says.
    usable, objections = _parted(names, "name", lambda name: _is_sink(name) or parse_names([name]))
    usable = [name for name in usable if not _is_sink(name)]
    # An empty list would let in every theme, which is not what was asked for.
    return usable or ([DEFAULT_THEME] if names else []), objections


def _is_sink(name: str) -> bool:
    return fold_name(name) in SINKS


def _usable_aliases(aliases: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    usable, objections = _parted(aliases.items(), "alias", lambda alias: IdentityPolicy(aliases=dict([alias])))
    return dict(usable), objections


def _parted(given: Iterable[Item], word: str, rule: Callable[[Item], object]) -> tuple[list[Item], list[str]]:
    usable, objections = [], []
    for number, item in enumerate(given, start=1):
        try:
            rule(item)
        except HermesMemoryError as error:
            objections.append(f"{word} {number} is left out: {error}")
        else:
            usable.append(item)
    return usable, objections


PARTS: Final[Mapping[str, Callable[[Any], tuple[Any, list[str]]]]] = {
    "allowed_themes": _usable_themes,
    "identity_aliases": _usable_aliases,
}
"""Settings of several names, of which those that can be used are taken over."""

RENAMED: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "embed_url": ("embed_url", _url),
    "embed_model": ("embed_model", _text),
    "embed_dim": ("embed_dim", _whole(1, 4000)),
    "embed_api_key_env": ("embed_api_key_env", _variable),
    "embed_protocol": ("embedder", _word("auto", "openai", "ollama")),
    "prefetch_limit": ("prefetch_limit", _whole(1, 50)),
    "scope_default": ("scope_default", _word("current", "session", "all")),
    "sync_turns": ("capture_turns", _flag),
    "allowed_themes": ("allowed_themes", _names),
    "identity_aliases": ("identity_aliases", _aliases),
    "bench_mode": ("bench_mode", _word("bucket", "reject")),
    "conversation_embed_policy": ("embed_policy", _word("all", "substantive_only", "none")),
    "embed_timeout": ("embed_read_timeout", _number(0.01, 60)),
    "embed_write_timeout": ("embed_write_timeout", _number(0.01, 600)),
    "prefetch_budget": ("prefetch_timeout", _number(0.01, 7.5)),
    "write_contexts": ("write_contexts", _names),
    "shutdown_drain_timeout": ("shutdown_timeout", _number(0, 60)),
    "bulk_sync_on_init": ("reconcile_files", _flag),
}
"""Keys with a counterpart: its name, and how the value is read."""

DROPPED: Final[Mapping[str, str]] = {
    "min_similarity": "cosines of different models mean different things; `recall_floor` is a fused score, and its "
    "default is measured",
    "hybrid_search": "both legs always run; `strategy` says how they are joined",
    "write_queue_maxsize": "the queue is a file that drops nothing; `spool_max_rows` bounds it at 200,000 writes",
    "turn_min_chars": "a filter drops small talk by what it says and keeps short facts; `turn_min_width` is there for "
    "a floor in columns",
    "ttl_days": "nothing is deleted by age, unless `hermes-memory prune` is run",
    "embed_write_retries": "embedding is retried until it succeeds",
    "embed_write_backoff": "the pause between attempts grows by itself",
    "embed_on_write": "texts are stored first and embedded afterwards, always",
}
"""Keys without a counterpart, and why."""

ENDPOINT: Final[Mapping[str, Any]] = {
    "embed_url": "http://localhost:11434",
    "embed_model": "nomic-embed-text",
    "embed_dim": 768,
}
"""What the old memory asked for when nothing was set."""

_KNOWN: Final = frozenset({"dsn", *RENAMED, *DROPPED})
