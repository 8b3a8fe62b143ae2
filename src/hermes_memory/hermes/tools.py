"""The tools the model may call: the schemas shown to it, the reading of its calls, and the JSON it gets back.

Whatever a call holds, it is answered: a wrong argument with a sentence that tells how to do it right.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from hermes_memory.hermes.tool_arguments import (
    MAX_CONTENT_CHARS,
    MAX_LIMIT,
    MAX_QUERY_CHARS,
    MemoryForget,
    MemoryProfile,
    MemoryRemember,
    RecallConversation,
    RecallMemory,
    ToolArguments,
    encodable,
)
from hermes_memory.hermes.tool_json import error_json, result_json
from hermes_memory.hermes.tool_schemas import bare_schema

__all__ = [
    "MAX_CONTENT_CHARS",
    "MAX_LIMIT",
    "MAX_QUERY_CHARS",
    "TOOL_NAMES",
    "MemoryForget",
    "MemoryProfile",
    "MemoryRemember",
    "RecallConversation",
    "RecallMemory",
    "ToolArguments",
    "ToolError",
    "error_json",
    "parse",
    "result_json",
    "tool_name",
    "tool_schemas",
]

_TOOLS: Final[Mapping[str, type[ToolArguments]]] = MappingProxyType(
    {
        "recall_memory": RecallMemory,
        "recall_conversation": RecallConversation,
        "memory_profile": MemoryProfile,
        "memory_remember": MemoryRemember,
        "memory_forget": MemoryForget,
    }
)
TOOL_NAMES: Final = frozenset(_TOOLS)
_NAMES: Final = {model: name for name, model in _TOOLS.items()}
_MISTAKES_TOLD: Final = 10
_NAME_SHOWN: Final = 40
"""Characters of a name that is none, which may be as long as the model likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """A call that cannot be served, in words the model can act on. It never repeats the arguments' values.

    Attributes:
        message: What is wrong and what would be right.
        arguments: Names of the arguments at fault, no more and no longer than the message tells.
    """

    message: str
    arguments: tuple[str, ...] = ()

    def json(self) -> str:
        """Render it as the tool's answer."""
        return error_json(self.message, **({"arguments": list(self.arguments)} if self.arguments else {}))


def tool_name(model: type[ToolArguments]) -> str:
    """Return the name by which the model calls a tool."""
    return _NAMES[model]


def tool_schemas() -> list[dict[str, Any]]:
    """Return the schemas of all tools: fresh copies of the same content at every call, before any connection.

    >>> [schema["name"] for schema in tool_schemas()]
    ['recall_memory', 'recall_conversation', 'memory_profile', 'memory_remember', 'memory_forget']
    """
    return [bare_schema(name, _description(model), model) for name, model in _TOOLS.items()]


def parse(name: object, arguments: object) -> ToolArguments | ToolError:
    """Read the arguments of a call.

    Args:
        name: The tool the model named.
        arguments: What it passed; anything at all.

    Returns:
        The arguments, or what is wrong with them.

    >>> parse("recall_memory", {"query": "launch date", "limit": "3"}).limit
    3
    >>> parse("recall_memory", {"query": "x", "limit": -1}).message
    'limit: must be a whole number from 1 to 50'
    """
    model = _TOOLS.get(name) if isinstance(name, str) else None
    if model is None:
        return ToolError(message=f"unknown memory tool; there are: {', '.join(_TOOLS)}")
    if not isinstance(arguments, Mapping):
        return ToolError(message=f"the arguments of {name} must be a JSON object, such as {_example(model)}")
    try:
        return model.model_validate({encodable(str(key)): value for key, value in arguments.items()})
    except ValidationError as error:
        return _explain(error, model)


def _explain(error: ValidationError, model: type[ToolArguments]) -> ToolError:
    problems = error.errors(include_url=False, include_input=False)
    sentences, names = [], []
    for problem in problems[:_MISTAKES_TOLD]:
        name = str(problem["loc"][0])[:_NAME_SHOWN] if problem["loc"] else ""
        names.append(name)
        if problem["type"] == "extra_forbidden":
            sentences.append(_unknown_argument(name, model))
        else:
            sentence = _sentence(problem["type"], problem["msg"], problem.get("ctx", {}))
            sentences.append(f"{name}: {sentence}" if name else sentence)
    if len(problems) > _MISTAKES_TOLD:
        sentences.append(f"and {len(problems) - _MISTAKES_TOLD:,} more")
    return ToolError(message="; ".join(sentences), arguments=tuple(filter(None, names)))


def _sentence(kind: str, message: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "is required"
        case "string_type":
            return "must be text"
        case "string_too_short":
            return "must not be empty"
        case "string_too_long":
            return f"must be at most {context['max_length']} characters"
        case "literal_error":
            return f"must be {context['expected']}"
        case _:
            return message.removeprefix("Value error, ")


def _unknown_argument(name: str, model: type[ToolArguments]) -> str:
    close = difflib.get_close_matches(name, list(model.model_fields), n=1)
    known = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(model.model_fields)}"
    return f"unknown argument '{name}': {known}"


def _description(model: type[ToolArguments]) -> str:
    return " ".join(inspect.cleandoc(model.__doc__ or "").split())


def _example(model: type[ToolArguments]) -> str:
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    return "{" + ", ".join(f'"{name}": "..."' for name in required) + "}"
