"""Operations as bytes and back, exactly: versioned JSON, read field by field into the known types and nothing else.

The format is a contract with files written by other releases of the library: a field that is added needs a default
for the bodies that lack it, and any other change needs the next `VERSION` and a reader for the one before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never
from uuid import UUID

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

VERSION: Final = 1
_WRONG_TYPE: Final = "a value is of another type than the write takes: see the signature of the call"
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

Plain: TypeAlias = dict[str, Any]
"""A JSON object. What it holds is checked by the reader of each type."""


class UnreadableOperation(HermesMemoryError):
    """A body is not an operation that any version of this library has written."""


class UnknownVersion(ConfigurationError):
    """A body was written by a newer version of this library. Upgrade; the operation is kept until then."""


def encode(operation: Operation) -> bytes:
    """Write an operation as UTF-8 JSON. Lone surrogates survive.

    Raises:
        InvalidInput: The metadata holds something that is not JSON, or is nested too deeply; or a value is of another
            type than its field.
    """
    try:
        text = _JSON.encode({"v": VERSION, **_plain_operation(operation)})
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("metadata holds only what JSON can: text, numbers, lists", field="metadata") from error
    except AttributeError as error:
        raise InvalidInput(_WRONG_TYPE) from error
    body = text.encode("utf-8", "surrogatepass")
    try:
        # Types are not checked at run time: what cannot be read back is refused now, not taken for damage later.
        decode(body)
    except UnreadableOperation as error:
        raise InvalidInput(_WRONG_TYPE) from error
    return body


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


def _plain_operation(operation: Operation) -> Plain:
    stamp = _plain_stamp(operation.stamp)
    match operation:
        case AddEntry():
            return {"type": "add", "stamp": stamp, **_plain_addition(operation)}
        case ReplaceEntry():
            return {"type": "replace", "stamp": stamp, **_plain_replacement(operation)}
        case RemoveEntry():
            return {"type": "remove", "stamp": stamp, "selector": _plain_selector(operation.selector)}
        case RecordTurns():
            turns = [_plain_turn(turn) for turn in operation.turns]
            return {"type": "turns", "stamp": stamp, "turns": turns, "parent": operation.parent_session}
        case RecordDelegation():
            return {"type": "delegation", "stamp": stamp, **_plain_delegation(operation)}
        case _:
            assert_never(operation)


def _plain_stamp(stamp: Stamp) -> Plain:
    caller = stamp.caller
    return {
        "operation": stamp.operation.hex,
        "theme": caller.theme,
        "subject": None if caller.subject is None else caller.subject.hex(),
        "session": caller.session,
        "origin": stamp.origin,
        "accepted_at": stamp.accepted_at.isoformat(),
        "tool": stamp.tool,
    }


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
    )


def _plain_addition(operation: AddEntry) -> Plain:
    return {
        "target": operation.target,
        "content": operation.content,
        "at": operation.at.isoformat(),
        "source": operation.source,
        "metadata": dict(operation.metadata),
    }


def _addition(plain: Plain) -> AddEntry:
    return AddEntry(
        stamp=_stamp(plain["stamp"]),
        target=Target(plain["target"]),
        content=_text(plain, "content"),
        at=datetime.fromisoformat(plain["at"]),
        source=_source(plain),
        metadata=_metadata(plain),
    )


def _plain_replacement(operation: ReplaceEntry) -> Plain:
    return {
        "selector": _plain_selector(operation.selector),
        "content": operation.content,
        "upsert": operation.upsert,
        "source": operation.source,
    }


def _replacement(plain: Plain) -> ReplaceEntry:
    return ReplaceEntry(
        stamp=_stamp(plain["stamp"]),
        selector=_selector(plain["selector"]),
        content=_text(plain, "content"),
        upsert=_flag(plain, "upsert"),
        source=_source(plain),
    )


def _removal(plain: Plain) -> RemoveEntry:
    return RemoveEntry(stamp=_stamp(plain["stamp"]), selector=_selector(plain["selector"]))


def _plain_selector(selector: Selector) -> Plain:
    match selector:
        case ById():
            return {"by": "id", "id": selector.id.hex}
        case ByContent():
            return {"by": "content", "target": selector.target, "text": selector.content, "source": selector.source}
        case BySubstring():
            return {"by": "substring", "target": selector.target, "text": selector.text, "source": selector.source}
        case _:
            assert_never(selector)


def _selector(plain: Plain) -> Selector:
    by = plain["by"]
    if by == "id":
        return ById(id=RowId(UUID(_text(plain, "id"))))
    target, text, source = Target(plain["target"]), _text(plain, "text"), _source(plain)
    if by == "content":
        return ByContent(target=target, content=text, source=source)
    if by == "substring":
        return BySubstring(target=target, text=text, source=source)
    raise ValueError(by)


def _plain_turn(turn: TurnDraft) -> Plain:
    return {
        "role": turn.role,
        "content": turn.content,
        "at": turn.at.isoformat(),
        "origin": turn.origin,
        "speaker": turn.speaker,
        "occurrence": turn.occurrence,
        "embed": turn.embed,
        "metadata": dict(turn.metadata),
    }


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


def _plain_delegation(operation: RecordDelegation) -> Plain:
    return {
        "child_session": operation.child_session,
        "child_theme": operation.child_theme,
        "task": operation.task,
        "result": operation.result,
    }


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
