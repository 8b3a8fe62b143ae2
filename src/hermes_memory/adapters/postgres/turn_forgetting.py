"""Forgets what was said in a conversation: one turn, with all that was made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres import history, jobs, lexicon
from hermes_memory.adapters.postgres.history import Change
from hermes_memory.adapters.postgres.lexicon import TURN_SHELF
from hermes_memory.adapters.postgres.rows import own_subjects, utc
from hermes_memory.domain.forgotten import forgotten_mark
from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.model import Caller, Kind, RowId, SessionId
from hermes_memory.domain.operations import ById, Effect, Outcome, RemoveEntry

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.pool import Transaction
    from hermes_memory.adapters.postgres.rows import Record

SAID: Final[LiteralString] = """
select c.id, c.subject, c.session_id, c.position, c.role, c.occurrence, c.content_hash, c.ts, c.lex_key, c.lex_length
  from hermes_memory.conversations c
 where c.agent_identity = $1 and c.subject = any ($2::bytea[]) and c.id = $3"""

# The session's row is locked from here on, as by who records turns of it: nobody stores the turn again meanwhile.
LEAVE_MARK: Final[LiteralString] = """
update hermes_memory.sessions set forgotten = forgotten || $4
 where agent_identity = $1 and subject = $2 and session_id = $3"""

REMOVE: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.conversations where agent_identity = $1 and subject = $2 and id = $3
  returning session_id, row_hash)
update hermes_memory.sessions s set tally = s.tally # hermes_memory.tally_of(g.row_hash) from gone g
 where s.agent_identity = $1 and s.subject = $2 and s.session_id = g.session_id"""

# Its vector holds words of the turn before it.
FOLLOWER: Final[LiteralString] = """
select c.id, c.content_hash from hermes_memory.conversations c
 where c.agent_identity = $1 and c.subject = $2 and c.session_id = $3 and c.position = $4 and c.embed"""


async def forget_turn(transaction: Transaction, caller: Caller, removal: RemoveEntry) -> Outcome | None:
    """Forget the turn that is meant, with its words in the index, its vectors and its jobs; None when there is none.

    The places of the other turns stay. Its session keeps a mark of it, by which it is known when it is handed in again.
    """
    if not isinstance(removal.selector, ById) or removal.selector.left_by is not None:
        return None
    turn = await transaction.fetch_row(SAID, caller.theme, own_subjects(caller), removal.selector.id)
    if turn is None:
        return None
    theme, subject = caller.theme, turn["subject"]
    mark = forgotten_mark(turn["role"], turn["occurrence"], turn["content_hash"])
    await transaction.execute(LEAVE_MARK, theme, subject, turn["session_id"], mark)
    words = await lexicon.row_document(
        transaction, theme, subject, turn["id"], key=turn["lex_key"], length=turn["lex_length"]
    )
    await lexicon.scrub(transaction, theme, TURN_SHELF, subject, words)
    await transaction.execute(REMOVE, theme, subject, turn["id"])
    await jobs.forget(transaction, theme, subject, RowId(turn["id"]))
    await _embed_follower(transaction, theme, turn)
    await history.note(transaction, theme, subject, [_gone(turn, removal)])
    return Outcome(operation=removal.stamp.operation, effect=Effect.REMOVED, row=RowId(turn["id"]))


async def _embed_follower(transaction: Transaction, theme: str, turn: Record) -> None:
    """Let the turn after this one wait for a vector that holds none of its words."""
    subject = turn["subject"]
    follower = await transaction.fetch_row(FOLLOWER, theme, subject, turn["session_id"], turn["position"] + 1)
    if follower is None:
        return
    row = RowId(follower["id"])
    await jobs.forget(transaction, theme, subject, row)
    waiting = jobs.Waiting(row=row, kind=Kind.TURN, content_hash=follower["content_hash"])
    await jobs.enqueue(transaction, theme, subject, [waiting])


def _gone(turn: Record, removal: RemoveEntry) -> Change:
    return Change(
        what=ChangeKind.REMOVED,
        stamp=removal.stamp,
        row=RowId(turn["id"]),
        target=None,
        old=None,
        new=None,
        said_at=utc(turn["ts"]),
        session=SessionId(turn["session_id"]),
    )
