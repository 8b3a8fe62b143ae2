"""What the verbs print can be read by programs and by people, whatever stands in a memory."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from tests.support.inprocess import InProcess

from hermes_memory.cli.common import print_json
from hermes_memory.cli.stats import _lines

HOSTILE = {
    "obeyed by a terminal": "red \x9b31m, bell \x07, delete \x7f, next line \x85",
    "shown in another order": "invoice\u202etxt.exe\u2066\u2069",
    "not shown": "a\u200bb\ufeffc\U000e0041\u2060",
    "line breaks to some": "one\u2028two\u2029three\nfour",
    "half of a pair": "\ud83d",
    "as it is": 'héllo 世界 👩\u200d🚀 \\ "',
}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_a_document_shows_what_it_holds_and_says_the_same(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding=encoding, newline=""))
    print_json({"memories": [HOSTILE], **HOSTILE})
    print(end="", flush=True)
    text = shown.getvalue().decode(encoding)

    assert all(character.isprintable() or character == "\n" for character in text)
    assert json.loads(text) == {"memories": [HOSTILE], **HOSTILE}


def test_letters_of_every_script_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="utf-8"))
    print_json("héllo 世界 שלום 🚀")
    print(end="", flush=True)

    assert shown.getvalue().decode().strip() == '"héllo 世界 שלום 🚀"'


async def test_of_one_line_that_is_held_it_is_said_that_it_is_one() -> None:
    status = await InProcess().memory.status()
    shown = [
        line.split(" came ")[0]
        for held in (1, 2)
        for line in _lines(replace(status, held_lines=held))
        if line.startswith("notebooks")
    ]

    assert shown == ["notebooks  1 line", "notebooks  2 lines"]
