"""The secrets in the home's `.env`: kept for its owner alone, beside what else is there."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import dotenv
import pytest

from hermes_memory.hermes import secrets_file
from hermes_memory.hermes.config_schema import RefusedValue
from hermes_memory.hermes.files import write_atomically
from hermes_memory.hermes.secrets_file import keep_secrets
from hermes_memory.settings import Settings

DSN = "HERMES_MEMORY_DSN"
URL = "postgresql://app:p%27w#d$x@db.example:5432/memory?sslmode=require"


def test_a_secret_is_read_back_by_the_settings(tmp_path: Path) -> None:
    address = URL.replace("#", "%23")  # as an address has to spell it
    keep_secrets(tmp_path, {DSN: address})

    kept = Settings(home=tmp_path).dsn
    assert kept
    assert kept.get_secret_value() == address


def test_the_file_is_the_owners_alone_even_when_it_was_not(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OTHER=1\n")
    (tmp_path / ".env").chmod(0o644)

    keep_secrets(tmp_path, {DSN: URL})
    keep_secrets(tmp_path / "fresh", {DSN: URL})

    for home in (tmp_path, tmp_path / "fresh"):
        assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
        assert [path.name for path in home.iterdir() if path.is_file()] == [".env"]


def test_other_lines_stay_as_they_are(tmp_path: Path) -> None:
    others = "# mine\nexport KEY='a b' # why\n\nBROKEN LINE\nLAST=1"
    (tmp_path / ".env").write_text(others)

    keep_secrets(tmp_path, {DSN: "postgresql://a@b/c"})
    keep_secrets(tmp_path, {DSN: URL})
    first = (tmp_path / ".env").read_text()
    keep_secrets(tmp_path, {DSN: None, "HERMES_MEMORY_SUBJECT_SECRET": None})

    assert first == f"{others}\n{DSN}='{URL}'\n"
    assert (tmp_path / ".env").read_text() == f"{others}\n"


@pytest.mark.parametrize("value", ["it's", "back\\slash", "two\nlines", "${HOME}", "nul\0", "no text \udcff"])
def test_a_value_that_readers_take_differently_is_refused_without_being_shown(tmp_path: Path, value: str) -> None:
    with pytest.raises(RefusedValue) as refused:
        keep_secrets(tmp_path, {"FIRST": "fine", DSN: value})

    assert value not in str(refused.value)
    assert DSN in str(refused.value)
    assert not (tmp_path / ".env").exists()


def test_a_link_to_the_file_is_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    (tmp_path / ".env").symlink_to(elsewhere)

    keep_secrets(tmp_path, {DSN: URL})

    assert (tmp_path / ".env").is_symlink()
    assert dotenv.dotenv_values(elsewhere) == {DSN: URL}


def test_the_lines_of_others_keep_every_byte_and_a_variable_its_place(tmp_path: Path) -> None:
    before = (
        b"\xef\xbb\xbf# mine\r\nA=\"x y\" # why\r\n\r\n \r\nexport HERMES_MEMORY_DSN=old # gone\r\nB='1'\r\n\r\n# end"
    )
    file = tmp_path / ".env"
    file.write_bytes(before)

    keep_secrets(tmp_path, {DSN: URL, "SECOND": "abc"})
    both = file.read_bytes()
    keep_secrets(tmp_path, {DSN: None, "SECOND": None})

    changed = before.replace(b"=old # gone\r\n", f"='{URL}'\n".encode())
    assert both == changed + b"\nSECOND=abc\n"
    assert file.read_bytes() == before.replace(b"export HERMES_MEMORY_DSN=old # gone\r\n", b"") + b"\n"
    assert dotenv.dotenv_values(stream=io.StringIO(both.decode("utf-8-sig")))[DSN] == URL


def test_the_file_is_replaced_once_and_only_when_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def counted(path: Path, text: str, *, mode: int) -> None:
        written.append(text)
        write_atomically(path, text, mode=mode)

    monkeypatch.setattr(secrets_file, "write_atomically", counted)
    (tmp_path / ".env").write_text("KEY=1\n")
    for _ in range(2):
        keep_secrets(tmp_path, {DSN: URL, "SECOND": "abc", "THIRD": None})

    assert written == [f"KEY=1\n{DSN}='{URL}'\nSECOND=abc\n"]


def test_a_file_that_is_no_text_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"KEY=\xff\n")

    with pytest.raises(RefusedValue, match="UTF-8"):
        keep_secrets(tmp_path, {DSN: URL})
    assert (tmp_path / ".env").read_bytes() == b"KEY=\xff\n"
