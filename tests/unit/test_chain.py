"""The chain of seals: whatever is changed under it is found, and an erasure by the rules is not held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.chain import (
    FIELDS,
    FIRST,
    TAKEN,
    Head,
    Link,
    Seal,
    canonical_form,
    erasure_record,
    examined,
    head,
    merkle_root,
    row_hash,
    verify,
)

THEME: Final = "marketing"
AT: Final = datetime(2026, 5, 3, 9, 0, 0, 123456, tzinfo=UTC)
texts = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5)


def link(*fields: str | None, seal: int | None = None) -> Link:
    identity, salt = uuid4(), b"s" * 16
    told = (str(identity), *fields)
    hashed = row_hash(salt, canonical_form(told))
    return Link(id=identity, fields=told, salt=salt, row_hash=hashed, seal=seal, erasure=None, record=None)


def chain(*batches: int) -> tuple[list[Link], list[Seal]]:
    """Return a history of so many changes under each seal, and its seals."""
    links: list[Link] = []
    seals: list[Seal] = []
    for number, size in enumerate(batches, start=1):
        held = [link(f"{number}.{place}", None, seal=number) for place in range(size)]
        prev = seals[-1].chained if seals else FIRST
        root = merkle_root([each.row_hash for each in held])
        seals.append(
            Seal(
                number=number,
                ids=[each.id for each in held],
                count=size,
                root=root,
                prev=prev,
                chained=head(THEME, number, size, AT, prev=prev, root=root),
                at=AT,
            )
        )
        links += held
    return links, seals


def said(links: Sequence[Link], seals: Sequence[Seal], *heads: Head) -> set[str]:
    return {flaw.what for flaw in verify(THEME, links, seals, heads)}


def erased(links: Sequence[Link], doomed: set[UUID], *, record: str | None) -> list[Link]:
    noted = replace(link("erased"), record=record)
    gone = [replace(each, salt=None, fields=(), erasure=noted.id) if each.id in doomed else each for each in links]
    return [*gone, noted]


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(0, 3))
def test_a_history_that_nobody_touched_holds(batches: list[int], waiting: int) -> None:
    links, seals = chain(*batches)
    heads = [Head(theme=THEME, seal=seal.number, chained=seal.chained) for seal in seals]

    assert said([*links, *(link("new") for _ in range(waiting))], seals, *heads) == set()
    assert said(links[::-1], seals[::-1], *heads) == set()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.data())
def test_a_change_that_is_altered_or_missing_is_named(batches: list[int], data: st.DataObject) -> None:
    links, seals = chain(*batches)
    at = data.draw(st.integers(0, len(links) - 1))
    altered, removed = list(links), [each for place, each in enumerate(links) if place != at]
    altered[at] = replace(links[at], fields=(*links[at].fields, "forged"))
    read = [examined(each) for each in altered]

    assert verify(THEME, read, seals) == verify(THEME, altered, seals)
    assert {each.fields for each in read} == {()}
    assert [(flaw.change, flaw.what) for flaw in verify(THEME, altered, seals)] == [
        (links[at].id, "a change was altered")
    ]
    assert [(flaw.change, flaw.what) for flaw in verify(THEME, removed, seals)] == [
        (links[at].id, "a change was removed")
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.data())
def test_a_change_that_is_exchanged_or_slipped_in_is_found(batches: list[int], data: st.DataObject) -> None:
    links, seals = chain(*batches)
    at = data.draw(st.integers(0, len(links) - 1))
    forged = link("forged", seal=links[at].seal)
    exchanged = list(links)
    exchanged[at] = replace(forged, id=links[at].id)

    assert said(exchanged, seals) == {"a change under this seal was exchanged"}
    assert [(flaw.change, flaw.what) for flaw in verify(THEME, [*links, forged], seals)] == [
        (forged.id, "a change was inserted")
    ]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_a_seal_that_is_altered_or_missing_is_found(batches: list[int], data: st.DataObject) -> None:
    links, seals = chain(*batches)
    at = data.draw(st.integers(0, len(seals) - 1))
    forged = {
        "root": replace(seals[at], root=bytes(32)),
        "time": replace(seals[at], at=datetime(2020, 1, 1, tzinfo=UTC)),
        "count": replace(seals[at], count=seals[at].count + 1),
        "prev": replace(seals[at], prev=b"p" * 32),
        "chained": replace(seals[at], chained=b"c" * 32),
    }
    for each in forged.values():
        assert "a seal was altered" in said(links, [*seals[:at], each, *seals[at + 1 :]])
    if at < len(seals) - 1:
        assert "a seal is missing" in said(links, [*seals[:at], *seals[at + 1 :]])
    else:
        assert "a change names a seal that is not there" in said(links, seals[:at])


def test_what_was_cut_off_or_made_anew_is_found_by_what_was_published() -> None:
    links, seals = chain(2, 3)
    published = [Head(theme=THEME, seal=seal.number, chained=seal.chained) for seal in seals]
    cut = [each for each in links if each.seal == 1]
    anew_links, anew = chain(2, 3)

    assert said(cut, seals[:1]) == set()
    assert said(cut, seals[:1], *published) == {"a published seal is missing"}
    assert said(anew_links, anew, *published) == {"the chain is not the published one"}
    assert said(links, seals, Head(theme="sales", seal=9, chained=bytes(32))) == set()


def test_an_erasure_on_record_leaves_the_chain_whole_and_any_other_is_found() -> None:
    links, seals = chain(2, 3)
    doomed = {links[0].id, links[4].id}
    vanished = [replace(links[0], salt=None), *links[1:]]

    assert said(erased(links, doomed, record=erasure_record(doomed)), seals) == set()
    assert said(erased(links, doomed, record=erasure_record({links[0].id})), seals) == {
        "texts vanished that no erasure is on record for"
    }
    assert said(erased(links, doomed, record=None)[:-1], seals) == {"texts vanished that no erasure is on record for"}
    assert said(vanished, seals) == {"a text vanished without an erasure"}


@for_each("taken", sorted(TAKEN))
def test_a_text_that_stands_in_a_tombstone_is_found(taken: str) -> None:
    links, seals = chain(2)
    doomed = {links[0].id}
    bare, *others = erased(links, doomed, record=erasure_record(doomed))
    kept = tuple(None if name in TAKEN else "kept" for name in FIELDS)
    planted = tuple("planted" if name == taken else value for name, value in zip(FIELDS, kept, strict=True))

    assert said([replace(bare, fields=kept), *others], seals) == set()
    assert [(flaw.change, flaw.what) for flaw in verify(THEME, [replace(bare, fields=planted), *others], seals)] == [
        (bare.id, "a text stands where one was erased")
    ]


@given(texts, texts)
def test_no_two_changes_share_a_form(one: list[str | None], other: list[str | None]) -> None:
    assert (canonical_form(one) == canonical_form(other)) == (one == other)


@for_each("size", range(1, 20))
def test_the_order_and_the_number_of_leaves_decide_the_root(size: int) -> None:
    leaves = [bytes([place]) * 32 for place in range(size)]
    roots = {merkle_root(leaves), merkle_root([*leaves, leaves[-1]]), merkle_root([merkle_root(leaves)])}
    if size > 1:
        roots.add(merkle_root(leaves[::-1]))

    assert len(roots) == (4 if size > 1 else 3)
