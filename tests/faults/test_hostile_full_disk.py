"""A disk that others fill: what the spool itself does not need any more serves what comes next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_memory.domain.errors import SpoolFull
from hermes_memory.testing.making import PLENTY, add
from tests.support.spool_process import open_spool

TAKEN = 2 * 1024 * 1024
"""Bytes that somebody else writes while the spool is full."""


def test_a_spool_that_was_emptied_on_a_full_disk_accepts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = open_spool(tmp_path / "spool", max_bytes=1 << 30)
    for number in range(120):
        spool.put(add(f"{number} " + "x" * 60_000))
    whole = used(tmp_path)

    def remaining(path: str | os.PathLike[str]) -> os.statvfs_result:
        fields = list(real(path))
        fields[4] = max(0, whole - TAKEN - used(tmp_path)) // fields[1]  # f_bavail, in blocks of f_frsize
        return os.statvfs_result(fields)

    real = os.statvfs
    monkeypatch.setattr(os, "statvfs", remaining)
    next((tmp_path / "spool").glob("*.ballast")).unlink()
    with pytest.raises(SpoolFull):
        spool.put(add("while it is full"))
    spool.done([item.operation.stamp.operation for item in spool.due(PLENTY)])
    spool.put(add("after it was emptied"))

    assert spool.status().depth == 1
    assert next((tmp_path / "spool").glob("*.ballast")).exists()
    spool.close()


def used(directory: Path) -> int:
    """Return the bytes of all files below."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
