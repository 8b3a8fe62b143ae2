"""Operations as bytes and back, exactly: versioned JSON, read field by field into the known types and nothing else.

The format is a contract with files written by other releases of the library: a field that is added needs a default
for the bodies that lack it, and any other change needs the next `VERSION` and a reader for the one before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from hermes_memory.adapters.spool.encoding import VERSION, encode
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, InvalidInput
from hermes_memory.domain.model import (
    NO_METADATA,
    Caller,
    HomeId,
    Metadata,
    OperationId,
    Origin,
    Role,
    RowId,
    SessionId,
    Subject,
    Target,
    Theme,
)
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
    Stamp,
    TurnDraft,
)

__all__ = ["VERSION", "Plain", "UnknownVersion", "UnreadableOperation", "decode", "encode"]

Plain: TypeAlias = dict[str, Any]
"""A JSON object. What it holds is checked by the reader of each type."""


class UnreadableOperation(HermesMemoryError):
    """A body is not an operation that any version of this library has written."""


class UnknownVersion(ConfigurationError):
    """A body was written by a newer version of this library. Upgrade; the operation is kept until then."""


def decode(body: bytes) -> Operation:
    """Read an operation that `encode` wrote.

    Raises:
        UnknownVersion: A newer version wrote it.
        UnreadableOperation: It is no operation at all.
    """
    try:
        plain = json.loads(body.decode("utf-8", "surrogatepass"))
        _check_version(plain["v"])
        return _OPERATIONS[plain["type"]](plain)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InvalidInput) as error:
        raise UnreadableOperation("a spooled body is not an operation") from error


def _check_version(version: object) -> None:
    if not isinstance(version, int) or version < 1:
        raise ValueError("v")
    if version > VERSION:
        raise UnknownVersion(
            f"a spooled operation has format {version}, this version reads up to {VERSION}: upgrade hermes_memory"
        )


def _stamp(plain: Plain) -> Stamp:
    subject, session = _optional(plain, "subject"), _optional(plain, "session")
    caller = Caller(
        theme=Theme(_text(plain, "theme")),
        subject=None if subject is None else Subject(bytes.fromhex(subject)),
        session=None if session is None else SessionId(session),
    )
    return Stamp(
        operation=OperationId(UUID(_text(plain, "operation"))),
        caller=caller,
        origin=Origin(plain["origin"]),
        accepted_at=datetime.fromisoformat(plain["accepted_at"]),
        tool=_optional(plain, "tool"),
        reason=_optional(plain, "reason") if "reason" in plain else None,
    )


def _addition(plain: Plain) -> AddEntry:
    return AddEntry(
        stamp=_stamp(plain["stamp"]),
        target=Target(plain["target"]),
        content=_text(plain, "content"),
        at=datetime.fromisoformat(plain["at"]),
        source=_source(plain),
        metadata=_metadata(plain),
    )


def _replacement(plain: Plain) -> ReplaceEntry:
    return ReplaceEntry(
        stamp=_stamp(plain["stamp"]),
        selector=_selector(plain["selector"]),
        content=_text(plain, "content"),
        upsert=_flag(plain, "upsert"),
        source=_source(plain),
        at=datetime.fromisoformat(plain["at"]) if "at" in plain else None,
    )


def _removal(plain: Plain) -> RemoveEntry:
    return RemoveEntry(stamp=_stamp(plain["stamp"]), selector=_selector(plain["selector"]))


def _selector(plain: Plain) -> Selector:
    by = plain["by"]
    if by == "id":
        left_by = OperationId(UUID(_text(plain, "left_by"))) if "left_by" in plain else None
        return ById(id=RowId(UUID(_text(plain, "id"))), left_by=left_by)
    target, text, source = Target(plain["target"]), _text(plain, "text"), _source(plain)
    if by == "content":
        return ByContent(target=target, content=text, source=source)
    if by == "substring":
        return BySubstring(target=target, text=text, source=source)
    raise ValueError(by)


def _turn(plain: Plain) -> TurnDraft:
    return TurnDraft(
        role=Role(plain["role"]),
        content=_text(plain, "content"),
        at=datetime.fromisoformat(plain["at"]),
        origin=Origin(plain["origin"]),
        speaker=_optional(plain, "speaker"),
        occurrence=_number(plain, "occurrence"),
        embed=_flag(plain, "embed"),
        metadata=_metadata(plain),
    )


def _turns(plain: Plain) -> RecordTurns:
    parent = _optional(plain, "parent")
    return RecordTurns(
        stamp=_stamp(plain["stamp"]),
        turns=tuple(_turn(turn) for turn in plain["turns"]),
        parent_session=None if parent is None else SessionId(parent),
    )


def _delegation(plain: Plain) -> RecordDelegation:
    session, theme = _optional(plain, "child_session"), _optional(plain, "child_theme")
    return RecordDelegation(
        stamp=_stamp(plain["stamp"]),
        child_session=None if session is None else SessionId(session),
        child_theme=None if theme is None else Theme(theme),
        task=_text(plain, "task"),
        result=_text(plain, "result"),
    )


_OPERATIONS: Final[dict[str, Callable[[Plain], Operation]]] = {
    "add": _addition,
    "replace": _replacement,
    "remove": _removal,
    "turns": _turns,
    "delegation": _delegation,
}


def _text(plain: Plain, key: str) -> str:
    value = plain[key]
    if not isinstance(value, str):
        raise TypeError(key)
    return value


def _flag(plain: Plain, key: str) -> bool:
    value = plain[key]
    if not isinstance(value, bool):
        raise TypeError(key)
    return value


def _number(plain: Plain, key: str) -> int:
    value = plain[key]
    if not isinstance(value, int):
        raise TypeError(key)
    return value


def _optional(plain: Plain, key: str) -> str | None:
    return None if plain[key] is None else _text(plain, key)


def _source(plain: Plain) -> HomeId | None:
    source = _optional(plain, "source")
    return None if source is None else HomeId(source)


def _metadata(plain: Plain) -> Metadata:
    metadata = plain["metadata"]
    if not isinstance(metadata, Mapping):
        raise TypeError("metadata")
    return metadata or NO_METADATA
