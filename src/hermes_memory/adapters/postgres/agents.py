"""Keeps the registry of themes, and who handed work to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns, subject_key
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.domain.operations import Effect, Outcome, RecordDelegation, row_id

# An upsert would lock the theme's row until the transaction ends and line up all writers of the theme behind it.
REGISTER: Final[LiteralString] = """
insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at) values ($1, $2, $2)
    on conflict (agent_identity) do nothing"""
REFRESH: Final[LiteralString] = """
update hermes_memory.memory_agents set last_seen_at = $2
 where agent_identity = $1 and last_seen_at < $2::timestamptz - interval '1 minute'"""

NOTE_EDGES: Final[LiteralString] = """
insert into hermes_memory.memory_agent_edges
  (agent_identity, subject, id, parent_session_id, child_identity, child_session_id, task, result, created_at)
select $1, $2, u.* from unnest(
  $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[]) as u"""

# A child of another theme registers its sessions itself: the wall keeps one theme from writing another's.
NOTE_PARENTS: Final[LiteralString] = """
insert into hermes_memory.sessions as s
  (agent_identity, subject, session_id, parent_session_id, started_at, last_at)
select $1, $2, u.child, u.parent, u.at, u.at
  from unnest($3::text[], $4::text[], $5::timestamptz[]) as u(child, parent, at)
 order by u.child
    on conflict (agent_identity, subject, session_id)
    do update set parent_session_id = coalesce(s.parent_session_id, excluded.parent_session_id)"""


async def register(transaction: Transaction, seen: Mapping[Theme, tuple[Caller, datetime]]) -> None:
    """Note that something was stored under themes, by whom and when last. Themes come in one order for everybody."""
    for theme, (caller, at) in sorted(seen.items()):
        await transaction.act_for(caller)
        await transaction.execute(REGISTER, theme, at)
        await transaction.execute(REFRESH, theme, at)


async def note_delegations(
    transaction: Transaction, caller: Caller, delegations: Sequence[RecordDelegation]
) -> list[Outcome]:
    """Note delegations of sessions of one theme and subject."""
    theme, subject = caller.theme, subject_key(caller.subject)
    edges = columns(
        (
            row_id(each.stamp.operation),
            each.stamp.caller.session,
            each.child_theme,
            each.child_session,
            each.task,
            each.result,
            each.stamp.accepted_at,
        )
        for each in delegations
    )
    await transaction.execute(NOTE_EDGES, theme, subject, *edges)
    if parents := _parents(caller.theme, delegations):
        await transaction.execute(NOTE_PARENTS, theme, subject, *columns(parents))
    return [Outcome(operation=each.stamp.operation, effect=Effect.STORED) for each in delegations]


def _parents(theme: Theme, delegations: Sequence[RecordDelegation]) -> list[tuple[str, str, datetime]]:
    """Return the child sessions within the theme, each once, with the session that started them first."""
    parents: dict[str, tuple[str, datetime]] = {}
    for each in delegations:
        parent = each.stamp.caller.session
        if parent and each.child_session and each.child_theme in {None, theme}:
            parents.setdefault(each.child_session, (parent, each.stamp.accepted_at))
    return [(child, parent, at) for child, (parent, at) in parents.items()]
