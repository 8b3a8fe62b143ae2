"""Turns pydantic models into the plain JSON schemas that every model's function calling understands."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def bare_schema(name: str, description: str, model: type[BaseModel]) -> dict[str, Any]:
    """Describe a tool as `{"name", "description", "parameters"}`, the shape the host wraps itself.

    Optional arguments are shown by their type alone and left out of `required`: references, unions with null, titles
    and null defaults confuse smaller models and are refused by some endpoints.

    Raises:
        TypeError: An argument is a true union or a nested object, which has no plain form.
    """
    schema = model.model_json_schema()
    properties = {key: _plain(key, value) for key, value in schema.get("properties", {}).items()}
    parameters: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := schema.get("required"):
        parameters["required"] = list(required)
    return {"name": name, "description": description, "parameters": parameters}


def _plain(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in schema.items() if key != "title"}
    if alternatives := flat.pop("anyOf", None):
        real = [one for one in alternatives if one.get("type") != "null"]
        if len(real) != 1:
            raise TypeError(f"argument '{name}' is a union of several types")
        flat = {**real[0], **flat}
    if flat.get("default", ...) is None:
        del flat["default"]
    if "$ref" in flat or "type" not in flat:
        raise TypeError(f"argument '{name}' has no plain type")
    return flat
