"""What the host's set-up asks about this memory, and where the answers go.

The host collects values by `get_config_schema`, hands the secret ones to its `.env` itself and the others to
`save_config`. Everything here works on an instance that was never initialised, and opens no connection.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo

from hermes_memory.adapters.modes import make_private
from hermes_memory.bootstrap.home import kept_outside
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes.directory_lock import alone_in
from hermes_memory.hermes.files import write_atomically
from hermes_memory.settings import ENV_PREFIX, NATIVE_FILE, Settings, default_home, settings_with
from hermes_memory.settings.files import text_of
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS, SECRETS
from hermes_memory.settings.ranges import bounds_of, choices_of, type_of
from hermes_memory.settings.refusals import problems_of

PROVIDER_NAME: Final = "hermes-memory"


class RefusedValue(ConfigurationError, ValueError):
    """A value the set-up offers cannot be used. Nothing was written.

    It is a ValueError too: the host's dashboard shows the message of one, and of nothing else, to its user.
    """


def get_config_schema() -> list[dict[str, Any]]:
    """Return the fields of the host's set-up forms, in order. All are optional: the defaults work as they are.

    >>> [field["key"] for field in get_config_schema()][:2]
    ['dsn', 'embedder']
    """
    return [
        _field("dsn", label="Postgres connection URL", secret=True, env_var=f"{ENV_PREFIX}DSN"),
        _field("embedder", label="Embedder", choices=list(choices_of(Settings.model_fields["embedder"]))),
        _field("embed_url", label="Embedding endpoint", placeholder="http://localhost:11434"),
        _field("embed_model", label="Embedding model", placeholder="nomic-embed-text"),
        _field("embed_dim", label="Vector length", placeholder="768"),
        _field("embed_api_key_env", label="Variable with the endpoint's key", when={"embedder": "openai"}),
        _field("read_policy", label="Who reads whom", choices=list(choices_of(Settings.model_fields["read_policy"]))),
        _field("prefetch", label="Recall before each turn", kind="boolean"),
    ]


def save_config(values: Mapping[str, Any], home: Path) -> None:
    """Merge set-up values into `hermes-memory.json`, readable by its owner alone; keys not named stay as they are.

    Several processes may save at once: they take turns.

    Args:
        values: Settings by name, as text or already typed. Empty text takes a setting out, back to its default.
        home: The Hermes home.

    Raises:
        RefusedValue: A key is unknown, secret or out of range, the values do not go together, or the file there is not
            a JSON object.
        DirectoryBusy: Another process keeps the directory to itself. The file is untouched.
        OSError: The file cannot be written. The old one is untouched.
    """
    require_together(values, home)  # before a home is made for what is refused
    path = _native_file(home)
    make_private(path.parent)
    with alone_in(path.parent):
        require_together(values, home)
        kept = json.dumps(_after(values, home), indent=2, sort_keys=True, ensure_ascii=False)
        write_atomically(path, f"{kept}\n", mode=0o600)


def require_together(values: Mapping[str, Any], home: Path) -> None:
    """Refuse values that do not go together. What was wrong before does not stand in the way of mending the rest.

    Args:
        values: As `save_config` takes them.
        home: The Hermes home, whose other settings count too.

    Raises:
        RefusedValue: As `save_config` raises it.
    """
    problem = _problem_of(_after(values, home), home)
    if problem is not None and problem != _problem_of(_read(_native_file(home)), home):
        raise RefusedValue(problem)


def settings_after(values: Mapping[str, Any], home: Path) -> Settings:
    """Return the settings of a home as they are once `save_config` has kept values.

    Raises:
        ConfigurationError: They do not hold together, or are wrong already.
    """
    return settings_with(_after(values, home), home=home)


def post_setup(home: Path, config: dict[str, Any]) -> str:
    """Make this memory the host's provider. Nothing is installed and nothing is asked.

    Args:
        home: The Hermes home.
        config: The host's whole configuration, as its set-up command loaded it; changed in place and saved.

    Returns:
        What to tell the user.

    Raises:
        ConfigurationError: The host's configuration cannot be saved from here. The message says what to write there.
    """
    memory = config.get("memory")
    if not isinstance(memory, dict):
        memory = config["memory"] = {}
    memory["provider"] = PROVIDER_NAME
    try:
        save_host_config = importlib.import_module("hermes_cli.config").save_config
    except ImportError as error:
        raise ConfigurationError(
            f"the host's configuration cannot be saved from this Python: "
            f"write 'memory: {{provider: {PROVIDER_NAME}}}' into {home / 'config.yaml'}"
        ) from error
    save_host_config(config)
    return _summary(home)


def get_status_config(home: Path | None = None) -> dict[str, Any]:
    """Summarise the effective settings for `hermes memory status`, without secrets.

    Args:
        home: The Hermes home; the environment's by default.
    """
    home = home or default_home()
    try:
        settings = Settings(home=home)
    except ConfigurationError as error:
        return {"problem": str(error)}
    model = settings.embed_model if settings.embedder in ENDPOINT_EMBEDDERS else None
    return {
        "store": _store_of(settings),
        "embedder": f"{settings.embedder} {model or ''}".strip(),
        "read_policy": settings.read_policy.value,
        "prefetch": "on" if settings.prefetch else "off",
        "settings": str(home / NATIVE_FILE),
    }


def backup_paths(home: Path | None = None) -> list[str]:
    """Return what the host's backup must fetch from outside the Hermes home.

    That is nothing but the embedded database of a home that root uses and Postgres may not enter.

    Args:
        home: The Hermes home; the environment's by default.
    """
    place = kept_outside(home or default_home())
    return [str(place)] if place is not None else []


def _field(key: str, *, kind: str = "", **more: Any) -> dict[str, Any]:
    source = Settings.model_fields[key]
    field: dict[str, Any] = {"key": key, "description": source.description or key, "required": False}
    if "secret" not in more:
        field["default"] = _default_of(source)
    if kind:
        field["kind"] = kind
    return {**field, **_number(source), **more}


def _number(source: FieldInfo) -> dict[str, Any]:
    """Return what a form needs to know of a setting that is a number; hosts that do not know of it show a text."""
    kind = {int: "integer", float: "number"}.get(type_of(source) or str)
    if kind is None:
        return {}
    bounds = bounds_of(source)
    names = {"minimum": bounds.get("ge"), "maximum": bounds.get("le")}
    return {"type": kind, **{name: bound for name, bound in names.items() if bound is not None}}


def _default_of(source: FieldInfo) -> str | bool:
    default = source.default
    if default is None:
        return ""
    return default if isinstance(default, bool) else str(default)


def parse_value(key: str, value: Any) -> Any:
    """Return a set-up value as the native file holds it; None, which takes the setting out, for empty text.

    Raises:
        RefusedValue: The key is unknown or secret, or the value is out of range or no text that a file can hold.
    """
    field = Settings.model_fields.get(key)
    if field is None or key == "home":
        raise RefusedValue(f"'{key}' is not a setting of {PROVIDER_NAME}")
    if key in SECRETS:
        raise RefusedValue(f"'{key}' may hold a secret: put {ENV_PREFIX}{key.upper()} into the environment or .env")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    declared: dict[str, Any] = {key: (field.annotation, field)}
    try:
        parsed = create_model("Setting", **declared)(**{key: value.strip() if isinstance(value, str) else value})
    except ValidationError as error:
        raise RefusedValue(str(problems_of(error, {key: field}, {})[0])) from None
    kept = parsed.model_dump(mode="json")[key]
    try:
        json.dumps(kept, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RefusedValue(f"{key}: a part of it is no text in UTF-8, which no file keeps: type it anew") from None
    return kept


def _native_file(home: Path) -> Path:
    # A link into somebody's versioned settings is written through, not replaced.
    return (home / NATIVE_FILE).resolve()


def _after(values: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Return what the native file holds once the values are merged into it."""
    typed = {key: parse_value(key, value) for key, value in values.items()}
    merged = {**_read(_native_file(home)), **typed}
    return {key: value for key, value in merged.items() if key not in typed or value is not None}


def _problem_of(native: Mapping[str, Any], home: Path) -> str | None:
    try:
        settings_with(native, home=home)
    except ConfigurationError as error:
        return str(error)
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(text_of(path) or "{}")
    except ConfigurationError as error:
        raise RefusedValue(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise RefusedValue(f"{path} is not valid JSON: mend or remove it first") from error
    if not isinstance(document, dict):
        raise RefusedValue(f"{path} does not hold a JSON object: mend or remove it first")
    return document


def _store_of(settings: Settings) -> str:
    if settings.dsn is None:
        return "embedded Postgres of this home"
    host = urlsplit(settings.dsn.get_secret_value()).hostname
    return f"Postgres at {host}" if host else "Postgres"


def _summary(home: Path) -> str:
    lines = [f"Memory provider: {PROVIDER_NAME}"]
    lines += [f"  {key}: {value}" for key, value in get_status_config(home).items()]
    lines.append(
        f"To change them: {home / NATIVE_FILE}, or HERMES_MEMORY_DSN in {home / '.env'} for your own Postgres."
    )
    lines.append("Start a new session to use it; 'hermes-memory doctor' checks the whole.")
    return "\n".join(lines)
