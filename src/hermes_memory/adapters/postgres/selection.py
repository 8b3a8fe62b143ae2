"""Finds the entry that a selector means, and locks it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, LiteralString, TypeAlias, assert_never

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import content_hash, own_subjects
from hermes_memory.domain.model import Caller, RowId, Target
from hermes_memory.domain.operations import ByContent, ById, BySubstring, Selector

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

BY_ID: Final[LiteralString] = """
select e.id, e.subject, e.target, e.content, e.source, e.lex_key, e.lex_length, false as mirrors
  from hermes_memory.memory_entries e
 where e.agent_identity = $1 and e.subject = any ($2::bytea[]) and e.id = $3
   and ($4::uuid is null or e.operation = $4)
   for update"""

# Entries that mirror the home come first, then those of the caller's subject. The two best tell whether it is one.
BY_CONTENT: Final[LiteralString] = """
select e.id, e.subject, e.target, e.content, e.source, e.lex_key, e.lex_length,
       e.source is not null and e.source is not distinct from $4::text as mirrors
  from hermes_memory.memory_entries e
 where e.agent_identity = $1 and e.subject = any ($2::bytea[]) and e.target = $3 and e.content_hash = $5
 order by mirrors desc, e.subject desc
 limit 2
   for update"""

BY_SUBSTRING: Final[LiteralString] = """
select e.id, e.subject, e.target, e.content, e.source, e.lex_key, e.lex_length,
       e.source is not null and e.source is not distinct from $4::text as mirrors
  from hermes_memory.memory_entries e
 where e.agent_identity = $1 and e.subject = any ($2::bytea[]) and e.target = $3 and strpos(e.content, $5) > 0
 order by mirrors desc, e.subject desc
 limit 2
   for update"""


class Several(Enum):
    """The answer that a selector fits several entries equally well."""

    SEVERAL = "several"


SEVERAL: Final = Several.SEVERAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The entry that is meant, locked until the transaction ends.

    Attributes:
        subject: As the database writes it.
        key: Its key in the text index, under which `length` lexemes stand.
    """

    id: RowId
    subject: bytes
    target: Target
    content: str
    key: int
    length: int


Selection: TypeAlias = Selected | Literal[Several.SEVERAL] | None


async def select(transaction: Transaction, caller: Caller, selector: Selector) -> Selection:
    """Return the one entry that is meant, None when there is none, `SEVERAL` when it cannot be told.

    Only entries that the caller may change are looked at.
    """
    theme, subjects = caller.theme, own_subjects(caller)
    match selector:
        case ById():
            found = await transaction.fetch(BY_ID, theme, subjects, selector.id, selector.left_by)
        case ByContent():
            found = await transaction.fetch(
                BY_CONTENT, theme, subjects, str(selector.target), selector.source, content_hash(selector.content)
            )
        case BySubstring():
            found = await transaction.fetch(
                BY_SUBSTRING, theme, subjects, str(selector.target), selector.source, selector.text
            )
        case _:
            assert_never(selector)
    return _first_group(found)


def _first_group(found: list[Record]) -> Selection:
    if not found:
        return None
    groups = [(record["mirrors"], record["subject"]) for record in found]
    if len(groups) > 1 and groups[0] == groups[1]:
        return SEVERAL
    best = found[0]
    return Selected(
        id=RowId(best["id"]),
        subject=best["subject"],
        target=Target(best["target"]),
        content=best["content"],
        key=best["lex_key"],
        length=best["lex_length"],
    )
