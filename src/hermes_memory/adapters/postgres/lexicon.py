"""Keeps the text index: blocks of postings, appended with their rows and scrubbed at once when a row's words go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile
from typing import Final, LiteralString

from anyio.lowlevel import checkpoint

from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.lexemes import MAX_LEXEME_BYTES
from hermes_memory.domain.postings import MAX_LENGTH, Block, BlockBuilder, Document, document, impact, postings

TURN_SHELF: Final = "turn"
"""The shelf of turns; entries stand on the shelf named after their target."""

MAX_VECTOR_BYTES: Final = 1_000_000
"""A tsvector holds less than 2²⁰ bytes. Words beyond it are kept in the text and not in the index."""
POSITION_BYTES: Final = 4
BLOCKS_A_STATEMENT: Final = 500
"""So many are written down in about a millisecond, during which the event loop stands still."""
_SEPARATOR: Final = "\x1f"

# Whoever takes postings out, or folds blocks, holds this lock on the theme from the start of the transaction: else one
# would bring back what the other has just taken out. Writers that only append need no lock.
LOCK_THEMES: Final[LiteralString] = """
select pg_advisory_xact_lock(hashtextextended(t.theme, 7))
  from (select theme from unnest($1::text[]) as u(theme) order by theme offset 0) t"""

# The columns come as texts, and all postings in one of them, of which each block takes its part: the driver looks at
# every element of an array several times, which took longer than all else about a batch.
APPEND: Final[LiteralString] = """
insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
select $1, $3, $2, u.lexeme, u.hi, u.n, (select $7::text::bigint[])[u.last - u.held + 1 : u.last]
  from (select t.lexeme, t.hi, t.n, t.held, sum(t.held) over (rows unbounded preceding)::int as last
          from unnest((string_to_array($4, E'\\x1f'))[2:], $5::text::real[], $6::text::int[], $8::text::int[])
            as t(lexeme, hi, n, held)) u"""

LEXEMES_OF: Final[LiteralString] = """
select u.lexeme, cardinality(u.positions) as frequency
  from hermes_memory.memory_documents d cross join lateral unnest(d.lex) as u
 where d.agent_identity = $1 and d.subject = $2 and d.id = $3"""

# A block that loses a posting is deleted and, unless it is empty now, inserted anew under the same best impact, which
# stays an upper bound. The last line counts the document out of the statistics. Lexemes and impacts are compared with
# arrays, which lead straight into the index; a join would be planned as a walk through the theme while it has no
# statistics yet. Adding 0 to the id keeps it out of the index condition, where an older server would try every pair.
SCRUB: Final[LiteralString] = """
with found as materialized (
  select b.hi, b.id, w.posting
    from unnest($4::text[], $5::real[], $6::bigint[]) as w(lexeme, impact, posting)
   cross join lateral (
         select b.hi, b.id from hermes_memory.term_blocks b
          where b.agent_identity = $1 and b.shelf = $2 and b.subject = $3 and b.lexeme = w.lexeme
            and b.hi >= w.impact and w.posting = any (b.packed)
         offset 0) b),
gone as (
  delete from hermes_memory.term_blocks b
   where b.agent_identity = $1 and b.shelf = $2 and b.subject = $3 and b.lexeme = any ($4::text[])
     and b.hi = any (array(select f.hi from found f)) and b.id + 0 = any (array(select f.id from found f))
  returning b.lexeme, b.hi, b.id, b.n, b.packed)
insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
select $1, $2, $3, g.lexeme, g.hi, g.n - 1, array_remove(g.packed, f.posting)
  from gone g join found f using (id) where g.n > 1
union all
select $1, $2, $3, '', 0, -1, array[-$7::bigint]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The words of a row, as they are stored with it.

    Attributes:
        lexemes: In order and with repetition.
        vector: The same as a tsvector in text form: the row's own record of what the index holds of it.
    """

    lexemes: Sequence[str]
    vector: str

    @property
    def length(self) -> int:
        """Number of lexemes, with repetition."""
        return len(self.lexemes)

    def under(self, key: int) -> Document:
        """Return the document that these words make under a key."""
        return document(key, self.lexemes)


def indexed(lexemes: Sequence[str]) -> Indexed:
    """Prepare the lexemes of a row to be stored: all of them, or as many as a tsvector can hold."""
    if len(lexemes) * (MAX_LEXEME_BYTES + POSITION_BYTES) > MAX_VECTOR_BYTES:
        sizes = accumulate(len(lexeme.encode()) + POSITION_BYTES for lexeme in lexemes)
        lexemes = list(islice(lexemes, sum(1 for _ in takewhile(MAX_VECTOR_BYTES.__ge__, sizes))))
    return Indexed(lexemes=lexemes, vector=tsvector_text(lexemes))


def tsvector_text(lexemes: Iterable[str]) -> str:
    r"""Write lexemes as a tsvector with their positions, whatever characters they are made of.

    >>> tsvector_text(["it's", "a", "it's"])
    "'it''s':1,3 'a':2"
    """
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, lexeme in enumerate(lexemes, start=1):
        positions[lexeme].append(position)
    return " ".join([f"{_quoted(lexeme)}:{_listed(places)}" for lexeme, places in positions.items()])


async def lock_themes(transaction: Transaction, themes: Iterable[str]) -> None:
    """Take the scrubbing locks of themes, in an order that is the same for everybody, until the transaction ends."""
    if wanted := sorted(set(themes)):
        await transaction.execute(LOCK_THEMES, wanted)


async def append(
    transaction: Transaction, theme: str, subject: bytes, documents: Iterable[tuple[str, Document]]
) -> None:
    """Add documents, each with its shelf, to the index of a theme and subject."""
    shelves: defaultdict[str, BlockBuilder] = defaultdict(BlockBuilder)
    pace = Pace()
    for shelf, each in documents:
        shelves[shelf].add(each)
        await pace.breathe()
    for shelf, builder in shelves.items():
        blocks = builder.blocks()
        while part := list(islice(blocks, BLOCKS_A_STATEMENT)):
            await checkpoint()
            await _append(transaction, theme, subject, shelf, part)


async def _append(transaction: Transaction, theme: str, subject: bytes, shelf: str, blocks: Sequence[Block]) -> None:
    # A separator in front of each: what is split at them begins with an empty part, even if all there is is empty.
    lexemes = "".join([_SEPARATOR + block.lexeme for block in blocks])
    if lexemes.count(_SEPARATOR) != len(blocks):
        raise InvalidInput("a lexeme cannot hold a separator of information", field="lexeme")
    await transaction.execute(
        APPEND,
        *(theme, subject, shelf, lexemes),
        _array(block.hi for block in blocks),
        _array(block.count for block in blocks),
        _array(posting for block in blocks for posting in block.packed),
        _array(len(block.packed) for block in blocks),
    )


async def row_document(
    transaction: Transaction, theme: str, subject: bytes, row: object, *, key: int, length: int
) -> Document:
    """Read back what the index holds of a stored row."""
    held = await transaction.fetch(LEXEMES_OF, theme, subject, row)
    return Document(key=key, counts={each["lexeme"]: each["frequency"] for each in held}, length=length)


async def scrub(transaction: Transaction, theme: str, shelf: str, subject: bytes, gone: Document) -> None:
    """Take a document out of the index. The transaction holds the theme's lock since it began."""
    length = min(gone.length, MAX_LENGTH)
    packed = postings(gone)
    impacts = [impact(gone.counts[lexeme], gone.length) for lexeme in packed]
    await transaction.execute(SCRUB, theme, shelf, subject, list(packed), impacts, list(packed.values()), length)


def _quoted(lexeme: str) -> str:
    if "\\" in lexeme or "'" in lexeme:
        lexeme = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{lexeme}'"


def _array(numbers: Iterable[float]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _listed(places: list[int]) -> str:
    return str(places[0]) if len(places) == 1 else ",".join(map(str, places))
