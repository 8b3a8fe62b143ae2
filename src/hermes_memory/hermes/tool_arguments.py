"""The arguments of the tools the model may call, one pydantic model a tool; its docstring is what the model reads.

They come from a language model, so harmless variants are understood (`"5"` for 5, `"User"` for `user`, null for absent)
and everything else is refused with a sentence that tells how to do it right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

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


def encodable(text: str) -> str:
    """Return a text without half an emoji, as a cut stream leaves it: it would make the text unusable as a whole."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encodable(value: object) -> object:
    return encodable(value) if isinstance(value, str) else value


def _folded(value: object) -> object:
    return encodable(value).strip().casefold() if isinstance(value, str) else value


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
TargetText = Annotated[Literal["memory", "user"], BeforeValidator(_folded)]
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
    target: TargetText | None = Field(
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

    target: TargetText | None = Field(
        default=None, description="'user': facts about the user. 'memory': your notes. Leave out for both."
    )
    limit: Limit = Field(default=20, description=_LIMIT)


class MemoryRemember(_Arguments):
    """Keep one fact in long-term memory, searchable in later sessions and not limited in size like the built-in notes.

    Write one self-contained sentence with names and dates instead of "he" and "yesterday". Never store passwords or
    keys. Conversations are kept by themselves; do not repeat them here.
    """

    content: Content = Field(description="The fact, understandable without this conversation.")
    target: TargetText = Field(default="memory", description="'user' for facts about the user, else 'memory'.")
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
    """Delete one entry of this agent's long-term memory, or one thing said in a conversation: it is found no more.

    Use it when the user asks to forget something, or when an entry is wrong. Give the id from recall_memory,
    recall_conversation or memory_profile, or else the entry's whole content, word for word.
    """

    id: str | None = Field(default=None, description="Its id, as the tools that recall and memory_profile show it.")
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
                raise ValueError("id is not one that the tools that recall, or memory_profile, show") from None
        return self


ToolArguments: TypeAlias = RecallMemory | RecallConversation | MemoryProfile | MemoryRemember | MemoryForget
