"""The file by which the processes of a home find the embedded server."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory.adapters.embedded_postgres.address import ServerAddress, load_address, save_address


def test_an_address_that_was_left_is_found(tmp_path: Path) -> None:
    path = tmp_path / "address.json"
    missing = load_address(path)
    save_address(path, ServerAddress(socket_directory=tmp_path, port=5433))

    assert missing is None
    assert load_address(path) == ServerAddress(socket_directory=tmp_path, port=5433)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"port": 5432}',
        '{"socket_directory": "/run", "port": "many"}',
        '{"socket_directory": "/run", "port": Infinity}',
        "[" * 60_000,
    ],
    ids=lambda content: content[:40],
)
def test_a_file_without_sense_is_no_address(tmp_path: Path, content: str) -> None:
    path = tmp_path / "address.json"
    path.write_text(content)

    assert load_address(path) is None
