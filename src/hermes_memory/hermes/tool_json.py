"""Renders tool answers: always one valid JSON object as text, whatever is in them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from datetime import date
from enum import Enum
from typing import Any


def result_json(payload: Mapping[str, Any] | None = None, /, **fields: Any) -> str:
    """Render an answer. Times become ISO 8601, ids and enums their text, NaN and infinity null.

    >>> result_json({"found": 1}, score=0.5)
    '{"found": 1, "score": 0.5}'
    """
    # What cannot be encoded would break the host's request to its model.
    text = json.dumps(_plain({**(payload or {}), **fields}), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def error_json(message: str, /, **fields: Any) -> str:
    """Render a refusal or failure as `{"error": message, ...}`.

    >>> error_json("the memory is not reachable", retry=True)
    '{"error": "the memory is not reachable", "retry": true}'
    """
    return result_json({"error": message}, **fields)


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple() | Set():
            return [_plain(item) for item in value]
        case Enum():
            return _plain(value.value)
        case _:
            return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
