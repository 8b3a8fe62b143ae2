"""Records what was said, and who handed work to whom, in an in-memory store."""

from __future__ import annotations

from hermes_memory.adapters.inmemory.records import Records, SessionKey
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, OperationId, RowId, Turn
from hermes_memory.domain.operations import Effect, RecordDelegation, RecordTurns, TurnDraft, row_id


def record_turns(records: Records, operation: RecordTurns) -> tuple[Effect, RowId | None]:
    """Store the turns that are new, and tell the row when the operation concerns just one."""
    session = _session_key(operation.stamp.caller)
    if operation.parent_session:
        records.parents.setdefault(session, operation.parent_session)
    placed = [_record(records, operation, session, index) for index in range(len(operation.turns))]
    effect = Effect.STORED if any(is_new for _, is_new in placed) else Effect.UNCHANGED
    return effect, placed[0][0] if len(placed) == 1 else None


def note_delegation(records: Records, operation: RecordDelegation) -> tuple[Effect, RowId | None]:
    """Keep the delegation, and let a child's session within the theme know its parent."""
    caller = operation.stamp.caller
    records.delegations.append(operation)
    if operation.child_session and caller.session and operation.child_theme in {None, caller.theme}:
        child = (caller.theme, caller.subject, operation.child_session)
        records.parents.setdefault(child, caller.session)
    return Effect.STORED, None


def _record(records: Records, operation: RecordTurns, session: SessionKey, index: int) -> tuple[RowId | None, bool]:
    draft = operation.turns[index]
    key = (session, draft.role, draft.content, draft.occurrence)
    if known := records.turn_keys.get(key):
        return known, False
    if key in records.forgotten_turns.get(session, ()):
        return None, False
    turn = _turn(draft, operation.stamp.operation, index, session, position=records.turn_counts[session])
    records.put_turn(turn, key=key, embed=draft.embed)
    records.accepted[turn.id] = operation.stamp.accepted_at
    return turn.id, True


def _turn(draft: TurnDraft, operation: OperationId, index: int, session: SessionKey, *, position: int) -> Turn:
    theme, subject, session_id = session
    return Turn(
        id=row_id(operation, index),
        theme=theme,
        subject=subject,
        session=session_id,
        role=draft.role,
        content=draft.content,
        at=draft.at,
        origin=draft.origin,
        position=position,
        speaker=draft.speaker,
        metadata=draft.metadata,
        operation=operation,
    )


def _session_key(caller: Caller) -> SessionKey:
    if caller.session is None:
        raise InvalidInput("a turn belongs to a session: name it", field="session")
    return caller.theme, caller.subject, caller.session
