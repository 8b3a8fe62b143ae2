"""Reads memories from JSON: what mem0 and Tablestore's memory give when they are asked for all they hold.

mem0: `{"results": [{"id", "memory", "metadata", "created_at", "updated_at", "user_id", "agent_id", "run_id"}, …]}`, or
the list alone. Tablestore: `{"memories": [{"id", "text", "metadata", "scope": {"tenantId", "agentId", "runId"},
"createdAt", "updatedAt"}, …]}`, or search results, which hold the same under "unit".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hermes_memory.adapters.sources.files import key_of, read_bounded, time_of, time_told
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Foreign, ForeignEntry, Unreadable, Whose
from hermes_memory.domain.model import Target

MAX_BYTES: Final = 268_435_456
"""Some hundred thousand memories; a document is parsed as a whole, and takes several times its size."""
DEFAULT_SCOPE: Final = "__default__"
"""How Tablestore writes that a level of the scope is not used."""
_LISTS: Final = ("results", "memories", "items", "data")
_UNSAID: Final = frozenset({"", "*", DEFAULT_SCOPE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The names that a tool gives to the same things, each in order of preference."""

    name: str
    texts: Sequence[str]
    users: Sequence[str]
    agents: Sequence[str]
    runs: Sequence[str]
    changed: Sequence[str]
    made: Sequence[str]


MEM0: Final = Shape(
    name="mem0",
    texts=("memory", "text", "data"),
    users=("user_id",),
    agents=("agent_id",),
    runs=("run_id",),
    changed=("updated_at",),
    made=("created_at",),
)
TABLESTORE: Final = Shape(
    name="tablestore",
    texts=("text", "content", "memory"),
    users=("tenantId", "tenant_id"),
    agents=("agentId", "agent_id"),
    runs=("runId", "run_id"),
    changed=("updatedAt", "updated_at", "updateTime", "update_time"),
    made=("createdAt", "created_at", "createTime", "create_time"),
)


def read_listing(path: Path, shape: Shape, *, user: str | None = None) -> list[Foreign]:
    """Read a file of memories: one JSON document, or one JSON object a line.

    Args:
        user: Whose memories to read, by the tool's own id of the user; "" for those that name none.

    Raises:
        InvalidInput: It is no such file, or it holds memories of several users and none is named: they would become
            one agent's, and be shown to whoever talks with it.
    """
    found: list[Foreign] = []
    users: set[str] = set()
    for place, item in _documents(path):
        if isinstance(item, Unreadable):
            found.append(item)
            continue
        whose = _first(item, shape.users) or ""
        if user is None or whose == user:
            users.update({whose} - {""})
            found.append(_entry(item, shape, place))
    if len(users) > 1:
        raise InvalidInput(
            f"this file holds memories of {len(users)} users: import them one after the other with --user ID, and "
            "--subject KEY to keep each to its own"
        )
    return found


def _documents(path: Path) -> Iterator[tuple[str, dict[str, Any] | Unreadable]]:
    """Yield the memories of a file, each with its place."""
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} cannot be read ({type(error).__name__})") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text)
        return
    if isinstance(document, dict) and document.get("nextToken"):
        yield "nextToken", Unreadable(place="nextToken", reason="the listing goes on: ask for the next page as well")
    items = _list_of(document)
    if items is None:
        raise InvalidInput(f"{path} holds no list of memories")
    for number, item in enumerate(items, 1):
        yield _object(f"memory {number}", item)


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any] | Unreadable]]:
    read = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            item = None
        place, found = _object(f"line {number}", item)
        read += isinstance(found, dict)
        yield place, found
    if not read:
        raise InvalidInput("the file is no JSON")


def _object(place: str, item: Any) -> tuple[str, dict[str, Any] | Unreadable]:
    if isinstance(item, Mapping) and isinstance(item.get("unit"), Mapping):
        item = item["unit"]
    if not isinstance(item, Mapping):
        return place, Unreadable(place=place, reason="this is no JSON object")
    return place, dict(item)


def _list_of(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        return next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    return None


def _entry(item: Mapping[str, Any], shape: Shape, place: str) -> Foreign:
    text = next((item[name] for name in shape.texts if isinstance(item.get(name), str)), None)
    if text is None:
        return Unreadable(place=place, reason=f"it has no text: expected one of {', '.join(shape.texts)}")
    metadata = item.get("metadata")
    made, identity = _first(item, shape.made), item.get("id") or item.get("memoryId")
    told = {"from": shape.name, "id": identity, "created_at": time_told(made)}
    return ForeignEntry(
        place=place,
        key=key_of(identity, made, text),
        whose=Whose(agent=_first(item, shape.agents)),
        target=Target.MEMORY,
        content=text,
        at=time_of(_first(item, shape.changed)) or time_of(made),
        session=_first(item, shape.runs),
        metadata={**(metadata if isinstance(metadata, Mapping) else {}), "imported": told},
    )


def _first(item: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of these that says something, from the item or its scope."""
    scope = item.get("scope")
    for holder in (item, scope if isinstance(scope, Mapping) else {}):
        for name in names:
            value = holder.get(name)
            if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value) not in _UNSAID:
                return str(value)
    return None
