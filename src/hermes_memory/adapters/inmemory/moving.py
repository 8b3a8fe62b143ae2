"""Moving a session of an in-memory store to another theme, which may have one of its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hermes_memory.adapters.inmemory.records import Records, SessionKey, TurnKey, session_key
from hermes_memory.domain.model import RowId, Theme, Turn


def turns_of(records: Records, session: SessionKey) -> list[Turn]:
    """Return the turns of a session, in their order."""
    turns = (turn for turn in records.turns.values() if session_key(turn) == session)
    return sorted(turns, key=lambda turn: turn.position)


def moved_session(session: SessionKey, theme: Theme) -> SessionKey:
    """Return what a session is called in another theme."""
    _, subject, name = session
    return theme, subject, name


def giving_way(records: Records, session: SessionKey, theme: Theme) -> frozenset[RowId]:
    """Return the turns of a session that the other theme has already, or has forgotten."""
    forgotten = records.forgotten_turns.get(moved_session(session, theme), set())
    known = records.turn_keys.keys() | forgotten
    keys = records.turn_keys.items()
    return frozenset(row for key, row in keys if key[0] == session and _moved_key(key, theme) in known)


def move_session(records: Records, session: SessionKey, theme: Theme) -> int:
    """Move a session with its turns; return how many gave way to one that is there.

    One that both themes have becomes one, in the order in which all was said. Turns that come after another one than
    before, or after none since that was forgotten, wait for new vectors: a vector holds words of the turn before.
    """
    target, doomed = moved_session(session, theme), giving_way(records, session, theme)
    there, turns = turns_of(records, target), turns_of(records, session)
    before = {turn.id: records.previous(turn) for turn in there}
    _take_out(records, session, theme, giving_way=doomed)
    for row in doomed:
        _drop(records, row)
    moved = [replace(turn, theme=theme) for turn in turns if turn.id not in doomed]
    _take_marks(records, session, theme)
    records.turn_counts[target] = max(records.turn_counts[target], records.turn_counts.pop(session))
    if there:
        _place(records, target, sorted([*there, *moved], key=lambda turn: turn.at), before)
    else:
        _keep_places(records, target, moved)
    return len(doomed)


def make_due(records: Records, row: RowId) -> None:
    """Let a row that waits for a vector be due: whoever has claimed it finds it gone."""
    for kept in records.kept.values():
        if job := kept.jobs.get(row):
            job.not_before = records.now()


def _moved_key(key: TurnKey, theme: Theme) -> TurnKey:
    session, role, content, occurrence = key
    return moved_session(session, theme), role, content, occurrence


def _take_out(records: Records, session: SessionKey, theme: Theme, *, giving_way: Collection[RowId]) -> None:
    """Let the places of a session be free, and its turns be known as those of the other theme unless they give way."""
    for place in [place for place in records.turn_places if place[0] == session]:
        del records.turn_places[place]
    for key in [key for key in records.turn_keys if key[0] == session]:
        row = records.turn_keys.pop(key)
        if row not in giving_way:
            records.turn_keys[_moved_key(key, theme)] = row


def _take_marks(records: Records, session: SessionKey, theme: Theme) -> None:
    """Let what was forgotten in a session be forgotten in that of the other theme, unless it stands there."""
    told = {_moved_key(key, theme) for key in records.forgotten_turns.pop(session, ())}
    if marks := told - records.turn_keys.keys():
        records.forgotten_turns.setdefault(moved_session(session, theme), set()).update(marks)


def _drop(records: Records, row: RowId) -> None:
    del records.turns[row], records.lexemes[row]
    records.accepted.pop(row, None)
    records.unembedded.discard(row)
    records.forget(row)


def _keep_places(records: Records, session: SessionKey, turns: Sequence[Turn]) -> None:
    for turn in turns:
        records.turns[turn.id] = turn
        records.turn_places[session, turn.position] = turn.id
        if turn.position and records.previous(turn) is None:
            records.embed_anew(turn.id)
        else:
            make_due(records, turn.id)


def _place(records: Records, session: SessionKey, turns: Sequence[Turn], before: Mapping[RowId, Turn | None]) -> None:
    """Put turns into this order.

    Args:
        before: After which one those came that were there already.
    """
    for place in [place for place in records.turn_places if place[0] == session]:
        del records.turn_places[place]
    last: Turn | None = None
    for position, turn in enumerate(turns):
        records.turns[turn.id] = replace(turn, position=position)
        records.turn_places[session, position] = turn.id
        former = before.get(turn.id)
        if turn.id not in before or (former and former.id) != (last and last.id):
            records.embed_anew(turn.id)
        last = turn
    records.turn_counts[session] = len(turns)
