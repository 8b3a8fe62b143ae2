"""The JSON schema of `hermes-memory.json`, for editors and whoever writes such files."""

from __future__ import annotations

from typing import Any, Final

from hermes_memory.settings.model import Settings
from hermes_memory.settings.names import NATIVE_FILE, SCHEMA_KEY

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOT_IN_FILES: Final = ("home", "subject_secret")
"""What a file of a home may not hold."""


def settings_schema() -> dict[str, Any]:
    """Return the schema, made from the settings' own declarations: types, ranges, defaults, descriptions.

    >>> settings_schema()["properties"]["pool_size"]["maximum"]
    64
    """
    schema = Settings.model_json_schema()
    properties = {key: of for key, of in schema["properties"].items() if key not in _NOT_IN_FILES}
    for key, of in properties.items():
        if isinstance(Settings.model_fields[key].default, tuple):
            properties[key] = _list_or_text(of)
    # A password belongs into the environment, so what may stand here is not the secret of which pydantic knows.
    address = properties["dsn"]
    properties["dsn"] = {
        **{name: value for name, value in address.items() if name != "anyOf"},
        "type": ["string", "null"],
        "description": f"{address['description']} Without a password: that belongs into the environment or .env.",
    }
    return {
        "$schema": _DIALECT,
        "title": NATIVE_FILE,
        "description": "Settings of one Hermes home.",
        "type": "object",
        "properties": {SCHEMA_KEY: {"type": "string", "description": "Where this schema is."}, **properties},
        "additionalProperties": False,
        "$defs": schema["$defs"],
    }


def _list_or_text(of: dict[str, Any]) -> dict[str, Any]:
    """Let a list of names be one text with commas, too."""
    about = {name: value for name, value in of.items() if name in {"default", "description", "title"}}
    rest = {name: value for name, value in of.items() if name not in about}
    return {**about, "anyOf": [rest, {"type": "string"}]}
