"""The chain of seals that history is bound into, and what tells whether it still holds.

A change is hashed with a salt that lies beside it: SHA-256 over salt and canonical form. A seal binds changes of one
theme: the root of a Merkle tree over their hashes (leaves and nodes told apart by a first byte, as in RFC 6962), and
the head, SHA-256 over the head before, this root, and theme, number, count and time of the seal. Whoever takes away,
adds or alters a change or a seal afterwards would have to make all heads anew, and one that was published stays.

An erasure takes text and salt and leaves the hash. It is a change of its own, which names the changes it took by a
digest, so that a text that merely vanished is told from one that was erased, and the memories that stay without one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import Final
from uuid import UUID

FIRST: Final = bytes(32)
"""What the first seal of a theme is chained to."""
ERASED: Final = "erased"
FIELDS: Final = (
    *("theme", "subject", "id", "row", "operation", "change", "target", "before", "after", "origin", "tool", "session"),
    *("reason", "at", "said_at", "recorded_at", "metadata", "merged_into"),
)
"""What the canonical form of a change is made of, in order."""
TAKEN: Final = frozenset({"before", "after", "tool", "session", "reason", "said_at", "metadata"})
"""What an erasure takes of it. The rest of a tombstone stays, and nothing binds it any more."""
_COUNT: Final = re.compile("[0-9]{1,10}")
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_ID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A change as the chain sees it.

    Attributes:
        fields: What its canonical form is made of, in the order of `FIELDS`; empty once it was examined.
        salt: None once its texts were erased.
        row_hash: 32 bytes.
        seal: Number of the seal that it is under, None while it waits for one.
        erasure: The change that says that its texts were erased.
        record: What that change says when this one is it: a count and a digest. None for every other change.
        flaw: What does not hold of it by itself, when it was examined.
    """

    id: UUID
    fields: Sequence[str | None]
    salt: bytes | None
    row_hash: bytes
    seal: int | None
    erasure: UUID | None
    record: str | None
    flaw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """A seal of one theme; `ids` are of the changes it is about, in the order of their leaves."""

    number: int
    ids: Sequence[UUID]
    count: int
    root: bytes
    prev: bytes
    chained: bytes
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the chain of a theme stood: what is published outside of the database."""

    theme: str
    seal: int
    chained: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that does not hold: where, and what.

    Attributes:
        entry: The memory that is not what its history says of it, or the turn that is not what was said.
        session: The conversation of which turns are missing, or in which others stand.
    """

    theme: str
    seal: int | None
    change: UUID | None
    what: str
    entry: UUID | None = None
    session: str | None = None


def canonical_form(fields: Sequence[str | None]) -> bytes:
    """Return the one spelling of a change: its fields as a JSON array of texts, in UTF-8."""
    return json.dumps(list(fields), ensure_ascii=False).encode()


def microseconds(moment: datetime) -> str:
    """Write a moment (aware) as the hashes have it: microseconds since 1970."""
    return str((moment - _EPOCH) // _MICROSECOND)


def row_hash(salt: bytes, canonical: bytes) -> bytes:
    """Return the hash of a change, 32 bytes. Without the salt it tells nothing about the text."""
    return hashlib.sha256(salt + canonical).digest()


def merkle_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over at least one hash. Of an odd number the last one moves up as it is."""
    level = [hashlib.sha256(_LEAF + each).digest() for each in hashes]
    while len(level) > 1:
        pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
        level = [hashlib.sha256(_NODE + b"".join(pair)).digest() if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def head(theme: str, number: int, count: int, at: datetime, *, prev: bytes, root: bytes) -> bytes:
    """Return what a seal is chained to the one before by, 32 bytes."""
    place = canonical_form([theme, str(number), str(count), microseconds(at)])
    return hashlib.sha256(prev + root + place).digest()


def erasure_record(ids: Iterable[UUID]) -> str:
    """Return what the change says that tells of an erasure: how many changes lost their texts, and their digest.

    The ids of the memories that stay without their history may follow.
    """
    taken = sorted(ids)
    return f"{len(taken)} {hashlib.sha256(b''.join(each.bytes for each in taken)).hexdigest()}"


def is_erasure_record(text: str) -> bool:
    """Tell whether a text is what such a change says: a count, a digest and ids, and nothing that somebody said."""
    parts = text.split(" ")
    shapes = chain((_COUNT, _DIGEST), repeat(_ID))
    return len(parts) > 1 and all(shape.fullmatch(part) for shape, part in zip(shapes, parts, strict=False))


def verify(theme: str, links: Sequence[Link], seals: Sequence[Seal], published: Iterable[Head] = ()) -> list[Flaw]:
    """Return all that does not hold in the history of one theme.

    Args:
        links: All its changes, in any order, examined or not.
        seals: All its seals, in any order.
        published: Heads that were published, of whatever themes.
    """
    ordered = sorted(seals, key=lambda seal: seal.number)
    flaws = [*_altered(theme, links), *_chain(theme, ordered), *_sealed(theme, links, ordered)]
    flaws += _erasures(theme, links)
    flaws += _against(theme, ordered, published)
    return flaws


def examined(link: Link) -> Link:
    """Hash a change anew, note whether it holds, and let go of its texts: a whole theme's are many."""
    return replace(link, fields=(), flaw=_flaw(link))


def _flaw(link: Link) -> str | None:
    if link.salt is None:
        # Nothing can be hashed any more, so a text here would be whoever's who put it there.
        left = any(value is not None for name, value in zip(FIELDS, link.fields, strict=False) if name in TAKEN)
        return "a text stands where one was erased" if left else None
    held = row_hash(link.salt, canonical_form(link.fields)) == link.row_hash
    return None if held else "a change was altered"


def _altered(theme: str, links: Sequence[Link]) -> Iterator[Flaw]:
    for link in links:
        if what := _flaw(link) if link.fields else link.flaw:
            yield Flaw(theme=theme, seal=link.seal, change=link.id, what=what)


def _chain(theme: str, seals: Sequence[Seal]) -> Iterator[Flaw]:
    prev, expected = FIRST, 1
    for seal in seals:
        for missing in range(expected, seal.number):
            yield Flaw(theme=theme, seal=missing, change=None, what="a seal is missing")
        made = head(theme, seal.number, seal.count, seal.at, prev=seal.prev, root=seal.root)
        if made != seal.chained or (seal.number == expected and seal.prev != prev):
            yield Flaw(theme=theme, seal=seal.number, change=None, what="a seal was altered")
        prev, expected = seal.chained, seal.number + 1


def _sealed(theme: str, links: Sequence[Link], seals: Sequence[Seal]) -> Iterator[Flaw]:
    under: dict[int, dict[UUID, Link]] = defaultdict(dict)
    for link in links:
        if link.seal is not None:
            under[link.seal][link.id] = link
    for seal in seals:
        yield from _one_seal(theme, seal, under.pop(seal.number, {}))
    for number, strays in sorted(under.items()):
        for stray in strays:
            yield Flaw(theme=theme, seal=number, change=stray, what="a change names a seal that is not there")


def _one_seal(theme: str, seal: Seal, held: Mapping[UUID, Link]) -> Iterator[Flaw]:
    named = set(seal.ids)
    for gone in sorted(named - held.keys()):
        yield Flaw(theme=theme, seal=seal.number, change=gone, what="a change was removed")
    for added in sorted(held.keys() - named):
        yield Flaw(theme=theme, seal=seal.number, change=added, what="a change was inserted")
    if len(seal.ids) != seal.count:
        yield Flaw(theme=theme, seal=seal.number, change=None, what="a seal was altered")
    whole = named == held.keys() and bool(seal.ids)
    if whole and merkle_root([held[each].row_hash for each in seal.ids]) != seal.root:
        yield Flaw(theme=theme, seal=seal.number, change=None, what="a change under this seal was exchanged")


def _erasures(theme: str, links: Sequence[Link]) -> Iterator[Flaw]:
    records = {link.id: link.record for link in links if link.record is not None}
    erased: dict[UUID, list[UUID]] = defaultdict(list)
    for link in links:
        if link.erasure is not None:
            erased[link.erasure].append(link.id)
        elif link.salt is None:
            yield Flaw(theme=theme, seal=link.seal, change=link.id, what="a text vanished without an erasure")
    for record, ids in erased.items():
        if records.get(record, "").split(" ")[:2] != erasure_record(ids).split(" "):
            yield Flaw(theme=theme, seal=None, change=record, what="texts vanished that no erasure is on record for")


def _against(theme: str, seals: Sequence[Seal], published: Iterable[Head]) -> Iterator[Flaw]:
    chained = {seal.number: seal.chained for seal in seals}
    for each in published:
        if each.theme == theme and chained.get(each.seal) != each.chained:
            what = "the chain is not the published one" if each.seal in chained else "a published seal is missing"
            yield Flaw(theme=theme, seal=each.seal, change=None, what=what)
