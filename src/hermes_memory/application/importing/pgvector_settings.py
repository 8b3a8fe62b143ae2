"""The settings of hermes-memory-pgvector under the names that they have here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})
_KEYWORD: Final = re.compile(r"^\s*\w+\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedSettings:
    """What became of the settings.

    Attributes:
        settings: For `hermes-memory.json`.
        dropped: Keys that have no counterpart or need none, and why.
        refused: Keys whose value could not be understood, and what was expected.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def converted(given: Mapping[str, Any]) -> ConvertedSettings:
    """Convert a section of settings. A key that is left out keeps the default of this memory.

    >>> converted({"sync_turns": "false", "ttl_days": 30}).settings
    {'capture_turns': False}
    """
    result = ConvertedSettings()
    for key, value in given.items():
        if key == "dsn":
            _address(value, result)
        elif key in DROPPED:
            result.dropped[key] = DROPPED[key]
        elif key in RENAMED:
            _rename(key, value, result)
        else:
            result.refused[key] = "it is no setting of hermes-memory-pgvector"
    _choose_embedder(given, result)
    return result


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
    if value is None:
        return
    try:
        result.settings[name] = read(value)
    except (ValueError, TypeError) as error:
        result.refused[key] = str(error) or "it has no usable value"


def _choose_embedder(given: Mapping[str, Any], result: ConvertedSettings) -> None:
    """Say which embedder serves: the old one's endpoint, unless it made no vectors."""
    if "embed_on_write" in given and "embed_on_write" not in result.refused:
        try:
            wanted = _flag(given["embed_on_write"])
        except ValueError as error:
            result.refused["embed_on_write"] = str(error)
            return
        result.dropped.pop("embed_on_write", None)
        if not wanted:
            result.settings["embedder"] = "none"
            return
    if "embedder" not in result.settings and any(key in given for key in ("embed_url", "embed_model", "embed_dim")):
        result.settings["embedder"] = "auto"
    if result.settings.get("embedder", "local") != "local":
        for name, default in ENDPOINT.items():
            result.settings.setdefault(name, default)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError("expected true or false")
    return text in _TRUE


def _number(low: float, high: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        number = float(value)
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}")
        return number

    return read


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = int(value)
        if not low <= number <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")
        return number

    return read


def _word(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return word

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text")
    return value.strip()


def _names(value: Any) -> list[str]:
    names = value.split(",") if isinstance(value, str) else list(value)
    return [str(name).strip() for name in names if str(name).strip()]


def _aliases(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(name): str(theme) for name, theme in value.items()}
    pairs = [pair.partition("=") for pair in _names(value)]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("expected name=theme, parted by commas")
    return {name.strip(): theme.strip() for name, _, theme in pairs}


RENAMED: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "embed_url": ("embed_url", _text),
    "embed_model": ("embed_model", _text),
    "embed_dim": ("embed_dim", _whole(1, 4000)),
    "embed_api_key_env": ("embed_api_key_env", _text),
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
