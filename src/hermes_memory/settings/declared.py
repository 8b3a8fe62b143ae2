"""What can be set, and what has to hold between settings. Every one has a unit, a range and a meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from hermes_memory.domain.database_address import require_database_address
from hermes_memory.domain.endpoint import parse_endpoint
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.identity import DEFAULT_BENCH_PATTERNS, IdentityPolicy
from hermes_memory.domain.listening import listening
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.domain.ranking import UNASKED_FLOOR
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.domain.themes import parse_names
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.domain.weights import RankingWeights
from hermes_memory.settings.homes import default_home, home_at
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS

Item = TypeVar("Item")


def _listed(given: object) -> object:
    names = _names_in(given) if isinstance(given, str) else given
    if isinstance(names, list | tuple):
        _require_each("name", names, _require_one_name)
    return names


def _names_in(text: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",") if name.strip()]
    try:
        names: list[Any] = json.loads(text)
    except (ValueError, RecursionError):
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise ValueError('what begins with [ must be a JSON list of texts, such as ["sales", "marketing"]')
    return names


def _require_one_name(name: object) -> None:
    if isinstance(name, str) and "," in name:
        raise InvalidInput("it has a comma in it: make it an item for each name")


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
"""A list of names: a list, or one text, with commas or as JSON."""


def _database(given: SecretStr | None) -> SecretStr | None:
    if given is not None:
        _refusing(require_database_address, given.get_secret_value())
    return given


def _endpoint(given: str | None) -> str | None:
    if given is not None:
        _refusing(parse_endpoint, given)
    return given


def _refusing(rule: Callable[[Item], object], given: Item) -> None:
    try:
        rule(given)
    except (ConfigurationError, InvalidInput) as error:
        raise ValueError(str(error)) from None


def _themes(given: tuple[str, ...]) -> tuple[str, ...]:
    _require_each("name", given, lambda name: parse_names([name]))
    return given


def _aliases(given: dict[str, str]) -> dict[str, str]:
    _require_each("alias", given.items(), lambda alias: IdentityPolicy(aliases=dict([alias])))
    _refusing(lambda aliases: IdentityPolicy(aliases=aliases), given)
    return given


def _require_each(word: str, given: Iterable[Item], rule: Callable[[Item], object]) -> None:
    """Tell of all that a rule refuses by their number: a name may be the key of a person."""
    refused = []
    for number, item in enumerate(given, start=1):
        try:
            rule(item)
        except InvalidInput as error:
            refused.append(f"{word} {number}: {error}")
    if refused:
        raise ValueError("; ".join(refused))


class DeclaredSettings(BaseSettings):
    """The settings by themselves, wherever they come from. The order and the sections are those of the reference."""

    home: Path = Field(
        default_factory=default_home,
        description="The Hermes home this memory belongs to. An argument, never a variable or key of its own.",
    )

    # Store
    dsn: Annotated[SecretStr | None, AfterValidator(_database)] = Field(
        None,
        description="Postgres connection URL of the runtime role. Without it the embedded Postgres of the home serves.",
    )
    state_directory: Path = Field(
        Path("/var/lib/hermes-memory"),
        description="Where root keeps the embedded database when its account cannot enter the home.",
    )
    pool_size: int = Field(4, ge=1, le=64, description="Most database connections of one process.")
    connect_timeout: float = Field(3.0, gt=0, le=60, description="Seconds to wait for a database connection.")
    command_timeout: float = Field(10.0, gt=0, le=600, description="Seconds a statement of the write path may take.")
    statement_cache: bool = Field(
        True, description="Keep prepared statements. Turn off behind a pooler in transaction mode."
    )
    partitions: int | None = Field(
        None, ge=1, le=256, description="Hash partitions, fixed at the first migration. Default 8 embedded, 32 else."
    )
    read_policy: ReadPolicy = Field(
        ReadPolicy.OPEN,
        description="Which other themes agents at work for themselves read: open, grants or own. Set by migrate.",
    )
    runtime_role: str = Field(
        "hermes_memory_app",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="Database role the memory logs in as; migrate creates it and grants to it.",
    )

    # Embedding
    embedder: Literal["local", "quality", "openai", "ollama", "auto", "none"] = Field(
        "local",
        description="local runs in this process; quality runs beside it, for many languages; openai and ollama name "
        "an HTTP shape; auto finds out which.",
    )
    embed_url: Annotated[str | None, AfterValidator(_endpoint)] = Field(
        None, description="Base URL of the embedding endpoint."
    )
    embed_model: str | None = Field(None, description="Model name the endpoint knows.")
    embed_dim: int | None = Field(None, ge=1, le=4000, description="Length of the model's vectors.")
    embed_api_key_env: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the endpoint's key. Never the key itself.",
    )
    embed_read_timeout: float = Field(2.0, gt=0, le=60, description="Seconds to wait for a question's vector.")
    embed_write_timeout: float = Field(30.0, gt=0, le=600, description="Seconds to wait for a batch to store.")
    embed_batch: int = Field(64, ge=1, le=256, description="Most texts sent to the embedder at once.")
    embed_parallel: int = Field(
        8,
        ge=1,
        le=16,
        description="Most batches in flight at an endpoint, fewer while it is slow. The local model takes one.",
    )
    embed_part_tokens: int | None = Field(
        None,
        ge=16,
        le=8192,
        description="Longer texts get a vector for each part of about so many tokens, as long as no other length is "
        "stored; then `reembed` makes them anew. Default 64 local, 256 else.",
    )
    embed_policy: Literal["all", "substantive_only", "none"] = Field(
        "all", description="Which captured turns get a vector. All of them stay searchable by text."
    )

    # Writing
    capture_turns: bool = Field(True, description="Remember what is said in conversations.")
    turn_min_width: int = Field(
        0, ge=0, le=1000, description="Turns narrower than this many columns are not captured. 0 trusts the filter."
    )
    reconcile_files: bool = Field(True, description="Keep the memory in step with MEMORY.md and USER.md of the home.")
    write_contexts: Names = Field(("primary", "cron"), description="Agent contexts that may write; others only read.")
    item_max_bytes: int = Field(
        1_048_576,
        ge=65_536,
        le=16_777_216,
        description="Largest single write, in bytes; at least 8 times `turn_max_chars`.",
    )
    turn_max_chars: int = Field(65_536, ge=256, le=1_000_000, description="Longer turns are cut here, marked.")
    spool_sync: Literal["FULL", "NORMAL"] = Field(
        "FULL", description="FULL survives power loss; NORMAL survives the death of the process and is faster."
    )
    spool_max_rows: int = Field(200_000, ge=100, le=10_000_000, description="Most writes waiting for the database.")
    spool_max_bytes: int = Field(1_073_741_824, ge=1_048_576, description="Most bytes waiting for the database.")
    shutdown_timeout: float = Field(2.0, ge=0, le=60, description="Seconds a shutdown spends on delivering.")
    forgotten_days: float = Field(
        30.0,
        ge=0,
        le=36_500,
        description="Days for which what was forgotten can be brought back; then its text is erased. 0 erases soon. "
        "The database keeps it for all homes that share it: `migrate` and the embedded start write it there.",
    )
    secret_policy: SecretPolicy = Field(
        SecretPolicy.REDACT,
        description="Texts with a credential: redact keeps them with a mark in its place, refuse keeps none of them, "
        "allow keeps them as they are.",
    )

    # Recall
    prefetch: bool = Field(True, description="Recall by itself before each turn.")
    prefetch_limit: int = Field(6, ge=1, le=50, description="Most memories recalled before a turn.")
    prefetch_timeout: float = Field(0.8, gt=0, le=7.5, description="Seconds a turn may wait for its recall.")
    ambient_trust: AmbientTrust = Field(
        AmbientTrust.LABELLED,
        description="Whose memories are recalled before a turn: vouched is the user's, the agent's and operators' own, "
        "labelled adds imports, all adds what tools and other agents wrote. Tools find all of them.",
    )
    prefetch_tokens: int = Field(600, ge=50, le=8000, description="Largest recalled block, in tokens.")
    tool_timeout: float = Field(5.0, gt=0, le=60, description="Seconds a memory tool may take.")
    tool_tokens: int = Field(3000, ge=100, le=32_000, description="Largest answer of a memory tool, in tokens.")
    scope_default: Literal["current", "session", "subject", "all"] = Field(
        "current", description="Where recall_memory and recall_conversation look unless told."
    )
    recall_floor: float = Field(
        UNASKED_FLOOR,
        ge=0,
        le=1,
        description="Fused score below which nothing is recalled before a turn. Without effect under strategy rrf.",
    )
    strategy: Literal["score", "rrf"] = Field(
        "score", description="How the legs are fused: by calibrated scores, or by reciprocal rank."
    )
    ranking_weights: dict[str, float] = Field(
        default_factory=dict,
        description="Weights of ranking, by name, in place of the measured ones. Without effect under strategy rrf.",
    )
    half_life_days: float | None = Field(
        None,
        gt=0,
        le=100_000,
        description="Days after which a memory counts half. Unset, and under strategy rrf, age does not count.",
    )

    # Identity
    # The rule sees the list, however it was written, so that a refusal shows it with contacts masked.
    allowed_themes: Annotated[tuple[str, ...], NoDecode, AfterValidator(_themes), BeforeValidator(_listed)] = Field(
        (), description="When set, any other theme becomes 'default'."
    )
    identity_aliases: Annotated[dict[str, str], AfterValidator(_aliases)] = Field(
        default_factory=dict, description="Theme names to read as others."
    )
    bench_patterns: Names = Field(
        DEFAULT_BENCH_PATTERNS, description="Themes that are benchmark traffic; * stands for any text."
    )
    bench_mode: Literal["bucket", "reject"] = Field(
        "bucket", description="Keep benchmark traffic in its sink, or treat it as 'default'."
    )
    subject_secret: SecretStr | None = Field(
        None, description="Key of the subject hashes; one for a whole fleet. Default: made once and kept in the home."
    )

    # Watching
    metrics_listen: str | None = Field(
        None,
        max_length=80,
        description="Where agents show their numbers to Prometheus: an address and a port, 127.0.0.1:9465, or as many "
        "ports as the home has processes, 127.0.0.1:9465-9472; each takes the first that is free. Unset, nowhere.",
    )
    metrics_beyond_loopback: bool = Field(
        False, description="Let `metrics_listen` be an address that other machines reach. Whoever does reads all of it."
    )
    opentelemetry: Literal["auto", "off"] = Field(
        "auto", description="auto hands spans and numbers to OpenTelemetry where its API is installed."
    )

    @field_validator("home")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return home_at(value)

    @model_validator(mode="after")
    def _require_endpoint(self) -> Self:
        if self.embedder in ENDPOINT_EMBEDDERS:
            missing = [key for key in ("embed_url", "embed_model", "embed_dim") if getattr(self, key) is None]
            if missing:
                raise ValueError(f"embedder '{self.embedder}' also needs {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _require_sound_weights(self) -> Self:
        try:
            RankingWeights.named(self.ranking_weights)
        except InvalidInput as error:
            raise ValueError(f"ranking_weights: {error}") from error
        return self

    @model_validator(mode="after")
    def _require_local_metrics(self) -> Self:
        if self.metrics_listen is None:
            return self
        try:
            where = listening(self.metrics_listen)
        except InvalidInput as error:
            raise ValueError(f"metrics_listen {error}") from error
        if not (where.local or self.metrics_beyond_loopback):
            raise ValueError("metrics_listen is reached from elsewhere, which metrics_beyond_loopback has to allow")
        return self

    @model_validator(mode="after")
    def _require_room(self) -> Self:
        # An exchange is one write of two turns, and a character takes up to four bytes.
        needed = 2 * 4 * self.turn_max_chars
        if self.item_max_bytes < needed:
            raise ValueError(f"item_max_bytes must be at least {needed:,}, 8 times turn_max_chars")
        return self
