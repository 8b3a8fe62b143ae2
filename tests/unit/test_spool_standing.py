"""What processes tell each other of the spool is trusted for the file, the machine and the run it was told of."""

from __future__ import annotations

import pytest
from tests.support.tables import for_each

from hermes_memory.adapters.spool import standing
from hermes_memory.adapters.spool.standing import SIZE, Standing, appended_in, packed, spoilt, unpacked

INTAKE = (2049, 1_234_567)
STANDS = Standing(INTAKE, tail=300, kept=7, kept_bytes=5_000, appended=91)


def test_what_was_told_is_read() -> None:
    assert unpacked(packed(STANDS), INTAKE) == STANDS
    assert len(packed(STANDS)) == SIZE


@for_each("stored", [b"", b"123", packed(STANDS)[:-1], bytes(SIZE), spoilt(packed(STANDS))])
def test_what_is_not_whole_tells_nothing(stored: bytes) -> None:
    assert unpacked(stored, INTAKE) is None


def test_what_was_told_of_another_file_tells_nothing() -> None:
    assert unpacked(packed(STANDS), (2049, 7)) is None


def test_what_was_told_before_the_machine_started_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = packed(STANDS)
    monkeypatch.setattr(standing, "_start_of_machine", lambda: b"another start...")

    assert unpacked(stored, INTAKE) is None


def test_how_much_was_appended_is_told_even_so() -> None:
    assert appended_in(spoilt(packed(STANDS))) == 91
    assert appended_in(b"") == 0
