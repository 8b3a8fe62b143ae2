"""Small private files that are made once: nobody finds half of one, and nothing stays of who was killed at it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hermes_memory.adapters.made_once import ABANDONED, make_once
from hermes_memory.adapters.secret_file import load_or_create
from hermes_memory.domain.errors import ConfigurationError


def abandoned(path: Path, name: str, *, age: float = ABANDONED + 1) -> Path:
    """Leave a file beside another one, as a process that was killed some time ago."""
    draft = path.with_name(f"{path.name}{name}")
    draft.touch()
    return left_alone(draft, age)


def left_alone(path: Path, age: float = ABANDONED + 1) -> Path:
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_a_file_is_made_for_us_alone_and_stays_as_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "secret"
    make_once(path, "one")
    make_once(path, "two")

    assert path.read_text() == "one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_what_killed_processes_left_is_removed_and_what_others_keep_there_is_not(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    left = [abandoned(path, f".{number}.0123456{number}") for number in range(2)]
    others = [
        abandoned(path, ".4711.01234567", age=0),  # of somebody who is at it now
        *(abandoned(path, name) for name in (".bak", ".4711.0123456", ".4711.0123456z", ".x.01234567", "s.1.01234567")),
    ]
    make_once(path, "one")

    assert not any(map(os.path.lexists, left))
    assert {*tmp_path.iterdir()} == {path, *others}


def test_the_other_name_of_a_file_whose_maker_was_killed_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    secret = load_or_create(path)
    draft = path.with_name("secret.4711.01234567")
    draft.hardlink_to(path)
    left_alone(draft)

    assert load_or_create(path) == secret
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_that_leads_nowhere_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.symlink_to(tmp_path / "nowhere")
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("a file was made"))

    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_or_create(path)
    assert list(tmp_path.iterdir()) == [path]
