"""The lines of an archive: one JSON object a record, the same bytes for the same record."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from hermes_memory.domain.archive import (
    KINDS,
    SAID_TARGET,
    Archived,
    ArchivedChange,
    archived_kind,
    check_change,
    check_owner,
)
from hermes_memory.domain.chain import ERASED
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.forgotten import MARK_BYTES
from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.model import Origin, Role, Target
from hermes_memory.domain.neutralising import neutralise

EARLIEST_YEAR: Final = 2
LATEST_YEAR: Final = 9998
_SHOWN_CHARS: Final = 40
_OPTIONAL: Final = frozenset({"vectors", "follows", "forgotten"})
"""Fields that are left out when there is nothing in them."""


@dataclass(frozen=True, slots=True)
class _Codec:
    """Writes a value as JSON has it, and reads it back, with ValueError or TypeError for what does not fit."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def json_line(value: Mapping[str, Any]) -> bytes:
    """Write one JSON object as a line: UTF-8, no blanks, in the order of its keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def line_of(record: Archived) -> bytes:
    """Return the line of a record."""
    kind = archived_kind(record)
    written: dict[str, Any] = {"kind": kind}
    for name, codec in FIELDS[kind].items():
        value = getattr(record, name)
        if name not in _OPTIONAL or value:
            written[name] = codec.write(value)
    return json_line(written)


def record_of(line: Mapping[str, Any]) -> Archived:
    """Read the record of a line.

    Raises:
        InvalidInput: The line is none of a record: the message names the field, and never quotes its value.
    """
    kind = line.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput("there is no such kind of line", field="kind")
    fields = FIELDS[kind]
    if unknown := sorted(line.keys() - fields.keys() - {"kind"}):
        raise InvalidInput(f"'{_shown(unknown[0])}' is no field of a line of kind {kind}", field=_shown(unknown[0]))
    values = {name: _read(name, codec, line) for name, codec in fields.items() if name not in _OPTIONAL or name in line}
    check_owner(values["theme"], values.get("subject"), registry=kind == "theme")
    record = KINDS[kind](**values)
    if isinstance(record, ArchivedChange):
        check_change(record)
    return record


def _shown(key: str) -> str:
    """Return a key of a file as it may be shown: whoever wrote the file chose it, for a terminal perhaps."""
    return neutralise(key[:_SHOWN_CHARS]).encode(errors="replace").decode()


def _read(name: str, codec: _Codec, line: Mapping[str, Any]) -> Any:
    if name not in line:
        raise InvalidInput(f"the field '{name}' is missing", field=name)
    try:
        return codec.read(line[name])
    except (ValueError, TypeError, OverflowError):
        raise InvalidInput(f"the field '{name}' has no usable value", field=name) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # half a surrogate pair is no text
    if "\0" in value:
        raise ValueError
    return value


def _filled(value: Any) -> str:
    if not _text(value).strip():
        raise ValueError
    return str(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None or not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise ValueError
    return moment.astimezone(UTC)


def _hash(value: Any) -> bytes:
    digest = bytes.fromhex(_text(value))
    if len(digest) != 32:
        raise ValueError
    return digest


def _marks(value: Any) -> bytes:
    joined = bytes.fromhex(_text(value))
    if len(joined) % MARK_BYTES:
        raise ValueError
    return joined


def _vectors(value: Any) -> tuple[bytes, ...]:
    if not isinstance(value, list):
        raise TypeError
    try:
        vectors = tuple(base64.b64decode(_text(each), validate=True) for each in value)
    except binascii.Error:
        raise ValueError from None
    if any(not each or len(each) % 2 for each in vectors):
        raise ValueError
    return vectors


def _one_of(names: set[str]) -> _Codec:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return _Codec(str, read)


def _or_none(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
    )


TEXT: Final = _Codec(str, _text)
FILLED: Final = _Codec(str, _filled)
ID: Final = _Codec(str, lambda value: UUID(_text(value)))
HASH: Final = _Codec(lambda value: value.hex(), _hash)
MARKS: Final = _Codec(lambda value: value.hex(), _marks)
MOMENT: Final = _Codec(lambda value: value.astimezone(UTC).isoformat(timespec="microseconds"), _moment)
COUNT: Final = _Codec(int, _count)
FLAG: Final = _Codec(bool, _flag)
OBJECT: Final = _Codec(dict, _object)
VECTORS: Final = _Codec(lambda value: [base64.b64encode(each).decode() for each in value], _vectors)
TARGET: Final = _one_of({str(each.value) for each in Target})
ORIGIN: Final = _one_of({str(each.value) for each in Origin})
ROLE: Final = _one_of({str(each.value) for each in Role})
CHANGE: Final = _one_of({*(str(each.value) for each in ChangeKind), ERASED})
CHANGED: Final = _one_of({*(str(each.value) for each in Target), SAID_TARGET, ""})

_OWNER: Final = {"theme": FILLED, "subject": _or_none(HASH)}
FIELDS: Final[Mapping[str, Mapping[str, _Codec]]] = {
    "theme": {"theme": FILLED, "first_seen_at": MOMENT, "last_seen_at": MOMENT, "metadata": OBJECT},
    "entry": {
        **_OWNER,
        "id": ID,
        "target": TARGET,
        "content": FILLED,
        "origin": ORIGIN,
        "tool": _or_none(TEXT),
        "session": _or_none(FILLED),
        "source": _or_none(FILLED),
        "metadata": OBJECT,
        "said_at": MOMENT,
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "operation": ID,
        "vectors": VECTORS,
    },
    "session": {
        **_OWNER,
        "session": FILLED,
        "parent": _or_none(TEXT),
        "started_at": MOMENT,
        "last_at": MOMENT,
        "forgotten": MARKS,
    },
    "turn": {
        **_OWNER,
        "session": FILLED,
        "position": COUNT,
        "id": ID,
        "parent": _or_none(TEXT),
        "role": ROLE,
        "speaker": _or_none(TEXT),
        "content": FILLED,
        "occurrence": COUNT,
        "origin": ORIGIN,
        "embed": FLAG,
        "metadata": OBJECT,
        "said_at": MOMENT,
        "created_at": MOMENT,
        "operation": ID,
        "vectors": VECTORS,
        "follows": HASH,
    },
    "delegation": {
        **_OWNER,
        "id": ID,
        "session": _or_none(TEXT),
        "child_theme": _or_none(TEXT),
        "child_session": _or_none(TEXT),
        "task": TEXT,
        "result": TEXT,
        "created_at": MOMENT,
    },
    "change": {
        **_OWNER,
        "id": ID,
        "row": ID,
        "change": CHANGE,
        "target": CHANGED,
        "before": _or_none(TEXT),
        "after": _or_none(TEXT),
        "origin": ORIGIN,
        "tool": _or_none(TEXT),
        "session": _or_none(TEXT),
        "operation": ID,
        "reason": _or_none(TEXT),
        "at": MOMENT,
        "said_at": _or_none(MOMENT),
        "recorded_at": MOMENT,
        "metadata": _or_none(OBJECT),
        "merged_into": _or_none(ID),
        "erasure": _or_none(ID),
        "digest": _or_none(HASH),
    },
}
"""The fields of each kind, in the order in which they are written."""
