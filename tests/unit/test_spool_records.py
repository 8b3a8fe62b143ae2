"""What lies in the intake is read as it was written, and damage costs what it touches."""

from __future__ import annotations

from itertools import accumulate

import pytest

from hermes_memory.adapters.spool.records import HEAD, MOVED, OVERHEAD, RETIRED, framed, read, used

BODIES = [b'{"v":1}', b'{"v":1,"content":"' + "Grüße 💡".encode() * 9 + b'"}', b"{}", b'{"v":1,"type":"turns"}']
WRITTEN = [(bytes([number]) * 16, b"lane" * 4, body) for number, body in enumerate(BODIES, start=1)]
FRAMED = [framed(*parts) for parts in WRITTEN]
WHOLE = b"".join(FRAMED)
ROOM = bytes(100)


def sound(content: bytes) -> list[tuple[bytes, bytes, bytes]]:
    return [(record.operation, record.lane, record.body) for record in read(content) if record.sound]


def damaged(content: bytes) -> int:
    return sum(not record.sound for record in read(content))


def test_records_are_read_in_their_order() -> None:
    assert sound(WHOLE + ROOM) == WRITTEN
    assert [record.start for record in read(WHOLE)] == [0, *accumulate(map(len, FRAMED[:-1]))]
    assert [len(record) for record in FRAMED] == [len(body) + OVERHEAD for body in BODIES]
    assert used(WHOLE + ROOM) == len(WHOLE)


def test_an_empty_intake_has_none() -> None:
    assert sound(ROOM) == sound(b"") == []


@pytest.mark.parametrize("bit", [0x01, 0x10, 0x80])
def test_a_flipped_bit_costs_one_record_at_most_and_that_is_told(bit: int) -> None:
    for offset in range(len(WHOLE)):
        content = bytearray(WHOLE + ROOM)
        content[offset] ^= bit
        found = sound(bytes(content))
        told = damaged(bytes(content))

        assert len(found) + told == len(WRITTEN), offset
        assert told <= 1, offset
        assert found == [parts for parts in WRITTEN if parts in found], offset


def test_a_record_that_was_cut_short_at_the_end_is_none() -> None:
    for kept in range(len(FRAMED[-1]) - 4):
        content = b"".join((*FRAMED[:-1], FRAMED[-1][:kept], ROOM))

        assert sound(content) == WRITTEN[:-1], kept
        assert damaged(content) == 0, kept


def test_what_lies_behind_damage_of_any_length_is_found() -> None:
    for length in range(1, len(FRAMED[0]) + len(FRAMED[1])):
        content = b"\x07" * length + WHOLE[length:]
        found = sound(content)

        assert found in (WRITTEN[1:], WRITTEN[2:]), length
        assert damaged(content) >= 1, length


def test_zeros_in_the_place_of_a_record_hide_none_behind_it() -> None:
    content = bytes(len(FRAMED[0])) + b"".join(FRAMED[1:])

    assert sound(content) == WRITTEN[1:]


def test_a_retired_record_is_passed_over() -> None:
    content = bytearray(WHOLE)
    content[: len(RETIRED)] = RETIRED

    assert sound(bytes(content)) == WRITTEN[1:]
    assert damaged(bytes(content)) == 0


def test_whoever_dies_in_overwriting_what_was_moved_leaves_nothing_that_is_not_known() -> None:
    known = {operation for operation, _, _ in WRITTEN}
    marked = MOVED + WHOLE[len(MOVED) :]
    for reached in range(len(MOVED)):
        content = MOVED[:reached] + WHOLE[reached:] + ROOM

        assert {record.operation for record in read(content)} <= known, reached
    for reached in range(HEAD, len(WHOLE) + 1):
        content = marked[:HEAD] + bytes(reached - HEAD) + marked[reached:] + ROOM

        assert not list(read(content)), reached
    for reached in range(HEAD + 1):
        content = bytes(reached) + marked[reached:HEAD] + bytes(len(WHOLE))

        assert not list(read(content)), reached


def test_what_a_power_cut_leaves_behind_zeros_passes_for_no_damage() -> None:
    for reached in range(4, len(WHOLE)):
        content = bytes(reached) + WHOLE[reached:] + ROOM

        assert damaged(content) == 0, reached
        assert sound(content) == WRITTEN[len(WRITTEN) - len(sound(content)) :], reached
