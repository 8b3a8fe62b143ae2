"""Moving a theme of an in-memory store into another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import uuid4

from hermes_memory.adapters.inmemory.moving import giving_way, make_due, move_session, moved_session, turns_of
from hermes_memory.adapters.inmemory.records import GrantKey, Records, SessionKey, entry_key
from hermes_memory.adapters.inmemory.upkeep import Noting
from hermes_memory.domain.grants import StandingGrant
from hermes_memory.domain.history import Change, ChangeKind
from hermes_memory.domain.maintenance import Remap
from hermes_memory.domain.model import Entry, OperationId, Origin, Row, RowId, Theme
from hermes_memory.ports.maintenance import Step

TOOL: Final = "remap"


class InMemoryRemap(Noting):
    """`Upkeep` that moves everything of a theme into another.

    Args:
        rows: Entries, at most, of one step. Of turns a step moves a session.
    """

    def __init__(self, records: Records, remap: Remap, *, rows: int = 1_000) -> None:
        super().__init__(records, "remap")
        self._remap = remap
        self._rows = rows
        self._is_registered = False

    async def count(self) -> Mapping[str, int]:
        """Count what moves, and what of it gives way to an equal row; see `Upkeep.count`."""
        records, target, sessions = self._records, self._remap.target, self._sessions()
        entries, delegations = self._entries(), records.delegations
        turns = [turn for session in sessions for turn in turns_of(records, session)]
        return {
            "entries": len(entries),
            "merged_entries": sum(self._twin(entry) is not None for entry in entries),
            "turns": len(turns),
            "merged_turns": sum(len(giving_way(records, session, target)) for session in sessions),
            "sessions": len(sessions),
            "delegations": sum(each.stamp.caller.theme == self._remap.source for each in delegations),
            "named": sum(each.child_theme == self._remap.source for each in delegations),
            "changes": len(self._changes(None)),
            "themes": int(self._remap.source in records.themes),
            "grants": len(self._due_grants()),
            **self._made_of([*entries, *turns]),
        }

    async def step(self) -> Step:
        """Move some entries, or a session, or at last what is left; see `Upkeep.step`."""
        if not self._is_registered:
            self._is_registered = True
            return self._note(self._register(), more=True)
        if entries := self._entries()[: self._rows]:
            return self._note(self._move_entries(entries), more=True)
        if sessions := self._sessions():
            return self._note(self._move_session(sessions[0]), more=True)
        self._is_registered = False
        return self._note(self._finish(), more=False)

    def _entries(self) -> list[Entry]:
        return [entry for entry in self._records.entries.values() if entry.theme == self._remap.source]

    def _sessions(self) -> list[SessionKey]:
        return [key for key in self._records.turn_counts if key[0] == self._remap.source]

    def _made_of(self, rows: Sequence[Row]) -> Mapping[str, int]:
        records = self._records
        return {
            "vectors": sum(records.vectors_of(row.id) for row in rows),
            "jobs": sum(records.jobs_of(row.id) for row in rows),
            "postings": sum(len(records.lexemes[row.id]) for row in rows),
        }

    def _changes(self, rows: Collection[RowId] | None) -> list[int]:
        """Return where in history the changes of these memories of the theme stand, or of all of them."""
        return [
            place
            for place, change in enumerate(self._records.history)
            if change.theme == self._remap.source and not change.erased and (rows is None or change.row in rows)
        ]

    def _register(self) -> Mapping[str, int]:
        source, target, themes = self._remap.source, self._remap.target, self._records.themes
        due = self._due_grants()
        for key in due:
            self._carry_over(self._records.grants.pop(key))
        if source in themes:
            seen = [themes[source], themes.get(target, themes[source])]
            themes[target] = min(first for first, _ in seen), max(last for _, last in seen)
        return {"grants": len(due)}

    def _due_grants(self) -> list[GrantKey]:
        """Return the grants that name the theme, unless the new name would widen what they open."""
        grants, names = self._records.grants, (self._remap.source, self._remap.target)
        rows: Iterable[Row] = [*self._records.entries.values(), *self._records.turns.values()]
        taken = (
            names[1] in self._records.themes
            or any(names[1] in key for key in grants)
            or any(row.theme == names[1] for row in rows)
        )
        return [key for key in grants if names[0] in key] if self._remap.grants or not taken else []

    def _carry_over(self, standing: StandingGrant) -> None:
        one, grants = standing.grant, self._records.grants
        source = self._theme(one.source)
        reader = self._remap.target if one.reader == self._remap.source else one.reader
        if reader == source:
            return  # a theme reads itself without a grant
        there = grants.get((reader, source))
        end = _later(one.expires_at, there.grant.expires_at) if there else one.expires_at
        grant = replace(one, reader=reader, source=source, expires_at=end)
        grants[reader, source] = replace(there or standing, grant=grant)

    def _move_entries(self, entries: Sequence[Entry]) -> Mapping[str, int]:
        made = self._made_of(entries)
        changes = self._take_changes({entry.id for entry in entries})
        merged = sum(self._gave_way(entry) for entry in entries)
        return {**made, "entries": len(entries), "merged_entries": merged, "changes": changes}

    def _twin(self, entry: Entry) -> Entry | None:
        """Return the entry that the other theme has already."""
        row = self._records.entry_keys.get(entry_key(replace(entry, theme=self._remap.target)))
        return self._records.entries[row] if row else None

    def _gave_way(self, entry: Entry) -> bool:
        """Move an entry; True when it gave way to one of the other theme, which its history tells."""
        records, twin = self._records, self._twin(entry)
        if twin is None:
            moved = replace(entry, theme=self._remap.target)
            del records.entry_keys[entry_key(entry)]
            records.entries[entry.id] = moved
            records.entry_keys[entry_key(moved)] = entry.id
            make_due(records, entry.id)
            return False
        records.entries[twin.id] = replace(twin, source=twin.source or entry.source)
        records.history.append(_merging(entry, twin, records.now()))
        records.drop_entry(entry.id)
        return True

    def _take_changes(self, rows: Collection[RowId] | None) -> int:
        places = self._changes(rows)
        for place in places:
            self._records.history[place] = replace(self._records.history[place], theme=self._remap.target)
        return len(places)

    def _move_session(self, session: SessionKey) -> Mapping[str, int]:
        turns = turns_of(self._records, session)
        made = self._made_of(turns)
        merged = move_session(self._records, session, self._remap.target)
        return {**made, "turns": len(turns), "merged_turns": merged, "sessions": 1}

    def _finish(self) -> Mapping[str, int]:
        records, source = self._records, self._remap.source
        for key in [key for key in records.parents if key[0] == source]:
            records.parents.setdefault(moved_session(key, self._remap.target), records.parents.pop(key))
        counts = Counter(changes=self._take_changes(None), themes=int(records.themes.pop(source, None) is not None))
        for place, each in enumerate(records.delegations):
            caller, child = each.stamp.caller, each.child_theme
            counts.update(delegations=int(caller.theme == source), named=int(child == source))
            caller = replace(caller, theme=self._theme(caller.theme))
            records.delegations[place] = replace(
                each, stamp=replace(each.stamp, caller=caller), child_theme=self._theme(child) if child else None
            )
        return counts

    def _theme(self, theme: Theme) -> Theme:
        return self._remap.target if theme == self._remap.source else theme


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the end that comes later; None stands for never."""
    return max(one, other) if one and other else None


def _merging(entry: Entry, twin: Entry, now: datetime) -> Change:
    return Change(
        id=uuid4(),
        theme=twin.theme,
        subject=entry.subject,
        row=entry.id,
        kind=ChangeKind.REPLACED,
        target=entry.target,
        before=entry.content,
        after=twin.content,
        origin=Origin.OPERATOR,
        tool=TOOL,
        session=None,
        operation=OperationId(uuid4()),
        reason=None,
        at=now,
        recorded_at=now,
        said_at=twin.at,
        merged_into=twin.id,
    )
