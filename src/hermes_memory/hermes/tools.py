"""The tools the model may call: their arguments, the schemas shown to it, and the JSON it gets back.

A tool is one pydantic model in `_TOOLS`; its docstring is what the model reads. Arguments come from a language model,
so harmless variants are understood (`"5"` for 5, `"User"` for `user`, null for absent) and everything else is answered
with a sentence that tells how to do it right.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

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
    "tool_schemas",
]

MAX_LIMIT: Final = 50
MAX_QUERY_CHARS: Final = 2000
MAX_CONTENT_CHARS: Final = 8000


def _whole_number(value: object) -> object:
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LIMIT:
        raise ValueError(f"must be a whole number from 1 to {MAX_LIMIT}")
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _encodable(value: object) -> object:
    # Half an emoji, as a cut stream leaves it, would make the text unusable as a whole.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value


def _folded(value: object) -> object:
    return value.strip().casefold() if isinstance(value, str) else value


def _truth(value: object) -> object:
    spelt = {"true": True, "false": False}
    value = spelt.get(value.strip().casefold(), value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _cut(value: object) -> object:
    value = _encodable(value)
    return value.strip()[:MAX_QUERY_CHARS] if isinstance(value, str) else value


Query = Annotated[str, Field(min_length=1), BeforeValidator(_cut)]
Target = Annotated[Literal["memory", "user"], BeforeValidator(_folded)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_whole_number)]
Flag = Annotated[bool, BeforeValidator(_truth)]
ScopeText = Annotated[str, Field(min_length=1, max_length=128), BeforeValidator(_encodable)]
Content = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS), BeforeValidator(_encodable)]

_QUERY: Final = "What to look for: a question or key words, in any language. Names, numbers and identifiers help most."
_SCOPE: Final = (
    "Where to look. 'current': this agent's own memory. 'session': this conversation only. 'subject': everything "
    "known about the person or group you are talking with. 'all': every agent's memory you may read. "
    "Or the name of one agent. Leave out for the configured default, normally 'current'."
)
_LIMIT: Final = "How many results at most."


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: object) -> object:
        # Models fill in null, and some an empty string, for what they leave out.
        if not isinstance(value, Mapping):
            return value
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        absent = {name for name, given in value.items() if given is None or (given == "" and name in optional)}
        return {name: given for name, given in value.items() if name not in absent}


class RecallMemory(_Arguments):
    """Search long-term memory: facts, preferences, decisions and notes kept across sessions, also by other agents.

    Use it before answering anything that may depend on earlier work or on what the user told you before, and before
    saying that you do not know. For what was literally said in a conversation use recall_conversation.
    """

    query: Query = Field(description=_QUERY)
    scope: ScopeText | None = Field(default=None, description=_SCOPE)
    target: Target | None = Field(
        default=None,
        description="'memory': notes about work and the world. 'user': facts about the user. Leave out for both.",
    )
    limit: Limit = Field(default=5, description=_LIMIT)


class RecallConversation(_Arguments):
    """Search past conversations for what was said, by whom and when, also in earlier sessions.

    Use it for "what did we discuss", "when did I ask", or to find wording, commands or error messages again. For
    lasting facts use recall_memory.
    """

    query: Query = Field(description=_QUERY)
    scope: ScopeText | None = Field(default=None, description=_SCOPE)
    limit: Limit = Field(default=5, description=_LIMIT)


class MemoryProfile(_Arguments):
    """List what long-term memory holds for this agent, newest first, without a search.

    Use it for an overview ("what do you know about me?") or to find the id of an entry to forget.
    """

    target: Target | None = Field(
        default=None, description="'user': facts about the user. 'memory': your notes. Leave out for both."
    )
    limit: Limit = Field(default=20, description=_LIMIT)


class MemoryRemember(_Arguments):
    """Keep one fact in long-term memory, searchable in later sessions and not limited in size like the built-in notes.

    Write one self-contained sentence with names and dates instead of "he" and "yesterday". Never store passwords or
    keys. Conversations are kept by themselves; do not repeat them here.
    """

    content: Content = Field(description="The fact, understandable without this conversation.")
    target: Target = Field(default="memory", description="'user' for facts about the user, else 'memory'.")
    sync: Flag = Field(
        default=False,
        description="true: wait until the database has stored it. false: it is kept safely and stored soon.",
    )

    @model_validator(mode="after")
    def _require_text(self) -> MemoryRemember:
        if not self.content.strip():
            raise ValueError("content must not be blank")
        return self


class MemoryForget(_Arguments):
    """Delete one entry of this agent's long-term memory, for good.

    Use it when the user asks to forget something, or when an entry is wrong. Give the id from recall_memory or
    memory_profile, or else the entry's whole content, word for word.
    """

    id: str | None = Field(default=None, description="Id of the entry, as recall_memory and memory_profile show it.")
    content: Content | None = Field(default=None, description="The entry's exact and whole content, for want of an id.")

    @property
    def entry(self) -> UUID | None:
        """The id as a UUID, or None when the content selects."""
        return UUID(self.id) if self.id is not None else None

    @model_validator(mode="after")
    def _require_one(self) -> MemoryForget:
        if (self.id is None) == (self.content is None):
            raise ValueError("give either id or content, and not both")
        if self.content is not None and not self.content.strip():
            raise ValueError("content must not be blank")
        if self.id is not None:
            try:
                UUID(self.id)
            except ValueError:
                raise ValueError("id is not one that recall_memory or memory_profile shows") from None
        return self


ToolArguments: TypeAlias = RecallMemory | RecallConversation | MemoryProfile | MemoryRemember | MemoryForget

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """A call that cannot be served, in words the model can act on. It never repeats the arguments' values.

    Attributes:
        message: What is wrong and what would be right.
        arguments: Names of the arguments at fault.
    """

    message: str
    arguments: tuple[str, ...] = ()

    def json(self) -> str:
        """Render it as the tool's answer."""
        return error_json(self.message, **({"arguments": list(self.arguments)} if self.arguments else {}))


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
        return model.model_validate({str(key): value for key, value in arguments.items()})
    except ValidationError as error:
        return _explain(error, model)


def _explain(error: ValidationError, model: type[ToolArguments]) -> ToolError:
    sentences, names = [], []
    for problem in error.errors(include_url=False, include_input=False):
        name = str(problem["loc"][0]) if problem["loc"] else ""
        names.append(name)
        if problem["type"] == "extra_forbidden":
            sentences.append(_unknown_argument(name, model))
        else:
            sentence = _sentence(problem["type"], problem["msg"], problem.get("ctx", {}))
            sentences.append(f"{name}: {sentence}" if name else sentence)
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
    return f"unknown argument '{name[:40]}': {known}"


def _description(model: type[ToolArguments]) -> str:
    return " ".join(inspect.cleandoc(model.__doc__ or "").split())


def _example(model: type[ToolArguments]) -> str:
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    return "{" + ", ".join(f'"{name}": "..."' for name in required) + "}"
