"""Operations as bytes. What `decode` could not read back is refused here, value by value.

The text is put together by hand because this is on the way of every write: a tree for the JSON encoder, and reading
the result back to see that it can be read, took three times as long. Types are not checked at run time anywhere else,
so each writer takes nothing but what the reader of its field takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Final, assert_never
from uuid import UUID

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import NO_METADATA, Caller, Metadata, Origin, Role, Target
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
_WRONG: Final = (TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""What putting together a value of a wrong type raises."""


def encode(operation: Operation) -> bytes:
    """Write an operation as UTF-8 JSON. Lone surrogates survive.

    Raises:
        InvalidInput: The metadata holds something that is not JSON, or is nested too deeply; or a value is of another
            type than its field.
    """
    try:
        return _operation(operation).encode("utf-8", "surrogatepass")
    except _WRONG as error:
        raise InvalidInput(_WRONG_TYPE) from error


def beginning(kind: str) -> str:
    """Return what the text of every operation of a kind begins with, so that it need not be decoded to be told."""
    return f'{{"v":{VERSION},"type":"{kind}",'


_ADD: Final = beginning("add")
_REPLACE: Final = beginning("replace")
_REMOVE: Final = beginning("remove")
_TURNS: Final = beginning("turns")
_DELEGATION: Final = beginning("delegation")


def _operation(operation: Operation) -> str:
    now = datetime.isoformat(operation.stamp.accepted_at)
    stamp = _stamp(operation.stamp, now)
    match operation:
        case RecordTurns():
            return f'{_TURNS}"stamp":{stamp},{_record(operation, now)}}}'
        case AddEntry():
            return f'{_ADD}"stamp":{stamp},{_addition(operation)}}}'
        case ReplaceEntry():
            return f'{_REPLACE}"stamp":{stamp},{_replacement(operation)}}}'
        case RemoveEntry():
            return f'{_REMOVE}"stamp":{stamp},"selector":{_selector(operation.selector)}}}'
        case RecordDelegation():
            return f'{_DELEGATION}"stamp":{stamp},{_delegation(operation)}}}'
        case _:
            assert_never(operation)


def _stamp(stamp: Stamp, now: str) -> str:
    return (
        f'{{"operation":"{_hex(stamp.operation)}",{_caller(stamp.caller)},"origin":{_origin(stamp.origin)},'
        f'"accepted_at":"{now}","tool":{_optional(stamp.tool)}{_reason(stamp)}}}'
    )


def _reason(stamp: Stamp) -> str:
    return "" if stamp.reason is None else f',"reason":{encode_basestring(stamp.reason)}'


@lru_cache(maxsize=256)
def _caller(caller: Caller) -> str:
    if not isinstance(caller, Caller):  # its own checks cover the subject
        raise TypeError("caller")
    subject = "null" if caller.subject is None else f'"{caller.subject.hex()}"'
    return f'"theme":{encode_basestring(caller.theme)},"subject":{subject},"session":{_optional(caller.session)}'


def _addition(operation: AddEntry) -> str:
    return (
        f'"target":{_TARGETS[operation.target]},"content":{encode_basestring(operation.content)},'
        f'"at":"{datetime.isoformat(operation.at)}","source":{_optional(operation.source)},'
        f'"metadata":{_metadata(operation.metadata)}'
    )


def _replacement(operation: ReplaceEntry) -> str:
    return (
        f'"selector":{_selector(operation.selector)},"content":{encode_basestring(operation.content)},'
        f'"upsert":{_flag(operation.upsert)},"source":{_optional(operation.source)}{_said_at(operation)}'
    )


def _said_at(operation: ReplaceEntry) -> str:
    return "" if operation.at is None else f',"at":"{datetime.isoformat(operation.at)}"'


def _selector(selector: Selector) -> str:
    match selector:
        case ById():
            left_by = "" if selector.left_by is None else f',"left_by":"{_hex(selector.left_by)}"'
            return f'{{"by":"id","id":"{_hex(selector.id)}"{left_by}}}'
        case ByContent():
            return _by_text("content", selector.target, selector.content, selector.source)
        case BySubstring():
            return _by_text("substring", selector.target, selector.text, selector.source)
        case _:
            assert_never(selector)


def _by_text(by: str, target: Target, text: str, source: str | None) -> str:
    return f'{{"by":"{by}","target":{_TARGETS[target]},"text":{encode_basestring(text)},"source":{_optional(source)}}}'


def _record(operation: RecordTurns, now: str) -> str:
    accepted_at = operation.stamp.accepted_at
    turns = ",".join(
        # Most are of the moment in which they are accepted.
        [_turn(turn, now if turn.at is accepted_at else datetime.isoformat(turn.at)) for turn in operation.turns]
    )
    return f'"turns":[{turns}],"parent":{_optional(operation.parent_session)}'


def _turn(turn: TurnDraft, at: str) -> str:
    if not isinstance(turn, TurnDraft):  # its own checks cover the occurrence
        raise TypeError("turn")
    return (
        f'{{"role":{_role(turn.role)},"content":{encode_basestring(turn.content)},'
        f'"at":"{at}","origin":{_origin(turn.origin)},"speaker":{_optional(turn.speaker)},'
        f'"occurrence":{turn.occurrence:d},"embed":{_flag(turn.embed)},"metadata":{_metadata(turn.metadata)}}}'
    )


def _delegation(operation: RecordDelegation) -> str:
    return (
        f'"child_session":{_optional(operation.child_session)},"child_theme":{_optional(operation.child_theme)},'
        f'"task":{encode_basestring(operation.task)},"result":{encode_basestring(operation.result)}'
    )


_TARGETS: Final[Mapping[Target, str]] = {target: encode_basestring(target.value) for target in Target}


def _role(role: object) -> str:
    if type(role) is not Role:  # a look into a table takes longer: it hashes the name
        raise TypeError("role")
    return encode_basestring(role)


def _origin(origin: object) -> str:
    if type(origin) is not Origin:
        raise TypeError("origin")
    return encode_basestring(origin)


def _optional(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _flag(value: object) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    raise TypeError("flag")


def _hex(value: object) -> str:
    if not isinstance(value, UUID):
        raise TypeError("id")
    return value.hex


def _metadata(metadata: Metadata) -> str:
    """Write metadata, and read them back: no type says how deep they are, or what numbers are in them."""
    if metadata is NO_METADATA:
        return "{}"
    try:
        text = _JSON.encode(dict(metadata))
        json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("metadata holds only what JSON can: text, numbers, lists", field="metadata") from error
    return text
