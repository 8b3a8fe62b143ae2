"""What the spool asks of the disk, on systems that answer differently."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest

from hermes_memory.adapters.spool import files


@pytest.mark.parametrize(("refused", "flushed"), [(None, ["full"]), (errno.ENOTSUP, ["full", "plain"])])
def test_a_mac_volume_that_refuses_a_full_flush_is_flushed_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, refused: int | None, flushed: list[str]
) -> None:
    asked: list[str] = []

    def control(_descriptor: int, _command: int) -> None:
        asked.append("full")
        if refused is not None:
            raise OSError(refused, "not supported")

    monkeypatch.setattr(files, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(files, "fcntl", SimpleNamespace(F_FULLFSYNC=51, fcntl=control))
    monkeypatch.setattr(files, "os", SimpleNamespace(fsync=lambda _: asked.append("plain")))
    files.sync_content(3)

    assert asked == flushed


def test_a_mac_disk_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(files, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(files, "fcntl", SimpleNamespace(F_FULLFSYNC=51, fcntl=fail))
    monkeypatch.setattr(files, "os", SimpleNamespace(fsync=fail))

    with pytest.raises(OSError, match="broken"):
        files.sync_content(3)
