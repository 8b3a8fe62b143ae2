"""The set-up dialogue: what is asked, what is asked again, and where the answers go."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.hermes.config_schema import RefusedValue, get_config_schema
from hermes_memory.hermes.setup_dialogue import ConsoleTerminal, set_up
from hermes_memory.settings import Settings

URL = "postgresql://app:hunter2@db.example/memory"
LABELS = {field["key"]: field["label"] for field in get_config_schema()}


class ScriptedTerminal:
    """Types prepared answers, then nothing more."""

    def __init__(self, answers: Iterable[str]) -> None:
        self.waiting = list(answers)
        self.asked: list[tuple[str, bool]] = []
        self.told: list[str] = []

    def ask(self, question: str, *, secret: bool) -> str | None:
        """Return the next prepared answer."""
        self.asked.append((question, secret))
        return self.waiting.pop(0) if self.waiting else None

    def tell(self, text: str) -> None:
        """Keep the line."""
        self.told.append(text)

    def keys(self) -> list[str]:
        """Return the settings that were asked for, in order."""
        questions = [question.strip() for question, _ in self.asked]
        return [key for question in questions for key, label in LABELS.items() if question.startswith(label)]


def _native(home: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((home / "hermes-memory.json").read_text())
    return document


def test_empty_answers_to_every_question_leave_the_home_as_it_is(tmp_path: Path) -> None:
    terminal = ScriptedTerminal([""] * 20)

    kept = set_up(tmp_path, {}, terminal)

    assert (kept.settings, kept.variables) == ((), ())
    assert terminal.keys() == ["dsn", "embedder", "read_policy", "prefetch"]
    assert list(tmp_path.iterdir()) == []


def test_the_endpoint_is_asked_for_only_when_there_is_one(tmp_path: Path) -> None:
    terminal = ScriptedTerminal(["", "openai", "http://localhost:9/v1", "small", "384", "OPENAI_API_KEY", "", "false"])

    set_up(tmp_path, {}, terminal)

    assert terminal.keys() == list(LABELS)
    settings = Settings(home=tmp_path)
    assert (settings.embedder, settings.embed_dim, settings.prefetch) == ("openai", 384, False)
    assert settings.embed_api_key_env == "OPENAI_API_KEY"


def test_the_connection_url_goes_to_the_secrets_alone_and_is_never_shown(tmp_path: Path) -> None:
    terminal = ScriptedTerminal([URL, "none", "", ""])
    again = ScriptedTerminal([])

    kept = set_up(tmp_path, {}, terminal)
    set_up(tmp_path, {}, again)

    assert kept.variables == ("HERMES_MEMORY_DSN",)
    assert (tmp_path / ".env").read_text() == f"HERMES_MEMORY_DSN='{URL}'\n"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert _native(tmp_path) == {"embedder": "none"}
    assert terminal.asked[0][1] is True
    assert "[set]" in again.asked[0][0]
    assert "hunter2" not in str((terminal.asked, terminal.told, again.asked, again.told))


def test_a_wrong_answer_is_asked_again_with_the_settings_own_words(tmp_path: Path) -> None:
    terminal = ScriptedTerminal(["mysql://a@b/c", URL, "opena", "none"])

    set_up(tmp_path, {}, terminal)

    told = "\n".join(terminal.told)
    assert "postgresql://role:password@host/database" in told
    assert "embedder: 'opena' cannot be used: expected one of local," in told
    assert terminal.keys()[:4] == ["dsn", "dsn", "embedder", "embedder"]
    assert _native(tmp_path) == {"embedder": "none"}


def test_answers_that_do_not_go_together_are_asked_again(tmp_path: Path) -> None:
    first = ["", "openai", "", "", "", "", "", ""]
    terminal = ScriptedTerminal([*first, "", "", "http://localhost:9/v1", "small", "384", "", "", ""])

    set_up(tmp_path, {}, terminal)

    assert any("also needs embed_url, embed_model, embed_dim" in line for line in terminal.told)
    assert _native(tmp_path)["embed_model"] == "small"


def test_when_nobody_answers_any_more_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue, match="also needs embed_url"):
        set_up(tmp_path, {}, ScriptedTerminal([URL, "openai"]))

    assert list(tmp_path.iterdir()) == []


def test_the_end_of_the_input_keeps_what_was_answered_and_the_rest_as_it_was(tmp_path: Path) -> None:
    set_up(tmp_path, {}, ScriptedTerminal(["", "none"]))

    assert _native(tmp_path) == {"embedder": "none"}


def test_a_dash_goes_back_to_the_default(tmp_path: Path) -> None:
    set_up(tmp_path, {"dsn": URL, "embedder": "none", "prefetch": "no"}, None)

    set_up(tmp_path, {}, ScriptedTerminal(["-", "-"]))

    assert _native(tmp_path) == {"prefetch": False}
    assert Settings(home=tmp_path).dsn is None


def test_a_question_shows_what_holds_now_as_it_would_be_typed(tmp_path: Path) -> None:
    set_up(tmp_path, {"embedder": "none", "read_policy": "own", "prefetch": "no"}, None)
    terminal = ScriptedTerminal([""] * 9)

    set_up(tmp_path, {}, terminal)

    shown = [question.rpartition("[")[2] for question, _ in terminal.asked]
    assert shown == ["embedded database of the home]: ", "none]: ", "own]: ", "false]: "]


def test_what_is_given_is_not_asked_for(tmp_path: Path) -> None:
    terminal = ScriptedTerminal([""] * 9)

    set_up(tmp_path, {"dsn": "", "embedder": "none", "recall_floor": "0.5"}, terminal)

    assert terminal.keys() == ["read_policy", "prefetch"]
    assert _native(tmp_path) == {"embedder": "none", "recall_floor": 0.5}


@pytest.mark.parametrize(
    "given",
    [
        {"embedder": "opena"},
        {"no_such_setting": "1"},
        {"subject_secret": "s"},
        {"dsn": "host=db"},
        {"dsn": "postgresql://a:it's@b/c"},
        {"dsn": "postgresql://[broken"},
        {"embed_dim": "0", "dsn": URL},
        {"turn_max_chars": "1000000"},
    ],
)
def test_nonsense_that_is_given_is_refused_before_anything_is_asked_or_written(
    tmp_path: Path, given: dict[str, str]
) -> None:
    with pytest.raises(RefusedValue):
        set_up(tmp_path, given, None)

    assert list(tmp_path.iterdir()) == []


def test_wrong_settings_of_the_home_can_be_mended(tmp_path: Path) -> None:
    (tmp_path / "hermes-memory.json").write_text('{"embedder": "openai", "prefetch_limit": 3}')

    set_up(tmp_path, {}, ScriptedTerminal(["", "local", "", ""]))

    assert Settings(home=tmp_path).embedder == "local"
    assert _native(tmp_path)["prefetch_limit"] == 3


def test_a_mistake_elsewhere_does_not_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("HERMES_MEMORY_NO_SUCH=1\n")

    set_up(tmp_path, {"embedder": "none"}, None)

    assert _native(tmp_path) == {"embedder": "none"}


def test_the_console_reads_lines_until_the_input_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["local"])

    def typed(question: str) -> str:
        print(question, end="")
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    console = ConsoleTerminal()
    answers = [console.ask("Which? ", secret=False), console.ask("And? ", secret=True)]
    console.tell("done")

    assert answers == ["local", None]
    assert capsys.readouterr().out == "Which? And? \ndone\n"


APART = {"item_max_bytes": "1100000", "turn_max_chars": "1000000"}
"""Two settings, fine each, that do not go together; neither is asked for."""
EVERYTHING = {
    "dsn": "",
    "embedder": "openai",
    "embed_url": "",
    "embed_model": "",
    "embed_dim": "",
    "embed_api_key_env": "",
    "read_policy": "own",
    "prefetch": "no",
}


@pytest.mark.parametrize(("given", "questions"), [(APART, 0), (EVERYTHING, 0), ({"embedder": "openai"}, 7)])
def test_what_is_given_and_no_answer_mends_is_refused_and_not_asked_once_more(
    tmp_path: Path, given: dict[str, str], questions: int
) -> None:
    terminal = ScriptedTerminal([""] * 100)

    with pytest.raises(RefusedValue):
        set_up(tmp_path, given, terminal)
    assert len(terminal.asked) == questions
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_is_given_once_more_unchanged_is_refused(tmp_path: Path) -> None:
    terminal = ScriptedTerminal(["", "openai", *[""] * 100])

    with pytest.raises(RefusedValue, match="also needs embed_url"):
        set_up(tmp_path, {}, terminal)
    assert terminal.keys().count("embedder") == 2


def test_going_back_to_the_default_embedder_asks_for_no_endpoint(tmp_path: Path) -> None:
    endpoint = {"embed_url": "http://localhost:9/v1", "embed_model": "small", "embed_dim": "384"}
    set_up(tmp_path, {"embedder": "openai", **endpoint}, None)
    terminal = ScriptedTerminal(["", "-", "", ""])

    set_up(tmp_path, {}, terminal)

    assert terminal.keys() == ["dsn", "embedder", "read_policy", "prefetch"]
    assert Settings(home=tmp_path).embedder == "local"


def test_a_database_of_ones_own_must_be_named_before_anything_is_kept(tmp_path: Path) -> None:
    with pytest.raises(RefusedValue, match="name that with --dsn"):
        set_up(tmp_path, {"prefetch": "no"}, None, own_database=True)
    with pytest.raises(RefusedValue, match="name that with --dsn"):
        set_up(tmp_path, {"prefetch": "no"}, ScriptedTerminal([""] * 100), own_database=True)
    before = list(tmp_path.iterdir())
    set_up(tmp_path, {"prefetch": "no"}, ScriptedTerminal([URL, *[""] * 3]), own_database=True)
    set_up(tmp_path, {"read_policy": "own"}, None, own_database=True)

    assert before == []
    assert _native(tmp_path) == {"prefetch": False, "read_policy": "own"}


def test_secrets_that_cannot_be_kept_leave_the_other_settings_as_they_were(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"KEY=\xff\n")

    with pytest.raises(RefusedValue, match="UTF-8"):
        set_up(tmp_path, {"dsn": URL, "read_policy": "own"}, None)
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
