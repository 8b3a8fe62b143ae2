from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.tables import for_each

from hermes_memory.demo.burst import MOST, order_line
from hermes_memory.demo.cast import read_cast
from hermes_memory.demo.crash import Killed, aftermath
from hermes_memory.demo.interactive import parse_request
from hermes_memory.demo.report import Report
from hermes_memory.demo.script import QUESTIONS
from hermes_memory.demo.terminal import COLUMNS, Style, Terminal, fit, paragraph
from hermes_memory.demo.transcripts import Transcript, parse_transcript
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import IdentityPolicy
from hermes_memory.domain.model import DIRECT_MESSAGES, Role
from hermes_memory.domain.noise import display_width

HOME = files("hermes_memory.demo") / "home"
HEADER = '{"session": "s1", "agent": "sales"}'
SAID = '{"role": "user", "speaker": "Ana", "at": "2026-03-04T09:05:00+02:00", "content": "Ship it."}'


def shipped() -> list[Transcript]:
    return [
        parse_transcript(path.read_text(encoding="utf-8"), name=path.name) for path in (HOME / "sessions").iterdir()
    ]


def test_a_transcript_says_whose_it_is_and_what_was_said_in_order() -> None:
    answer = SAID.replace("user", "assistant").replace('"speaker": "Ana", ', "")

    transcript = parse_transcript("\n".join([HEADER, SAID, "", answer, SAID, ""]), name="a.jsonl")

    assert (transcript.session, transcript.agent) == ("s1", "sales")
    assert [(line.number, line.role, line.speaker, line.occurrence) for line in transcript.lines] == [
        (2, Role.USER, "Ana", 0),
        (4, Role.ASSISTANT, None, 0),
        (5, Role.USER, "Ana", 1),
    ]
    assert transcript.lines[0].at.isoformat() == "2026-03-04T09:05:00+02:00"


@for_each(
    ("text", "complaint"),
    [
        ("", "a.jsonl is empty"),
        ("{", "a.jsonl, line 1: this is not JSON"),
        ("[]", "a.jsonl, line 1: a JSON object is expected"),
        ('{"session": "s1"}', "a.jsonl, line 1: agent must be a text"),
        (f"{HEADER}\n\n{SAID}\nnonsense", "a.jsonl, line 4: this is not JSON"),
        (f"{HEADER}\n{SAID.replace('user', 'bystander')}", "a.jsonl, line 2: role must be one of user"),
        (f"{HEADER}\n{SAID.replace('Ship it.', ' ')}", "a.jsonl, line 2: content must be a text and not empty"),
        (f"{HEADER}\n{SAID.replace('2026-03-04T', 'on ')}", "a.jsonl, line 2: at must be a time"),
        (f"{HEADER}\n{SAID.replace('+02:00', '')}", "a.jsonl, line 2: at needs its offset"),
        (f"{HEADER}\n{SAID.replace('Ana', '')}", "a.jsonl, line 2: speaker must be a text"),
    ],
)
def test_a_transcript_that_cannot_be_read_names_file_line_and_fault(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        parse_transcript(text, name="a.jsonl")


def test_the_shipped_sessions_can_be_read_and_belong_to_the_cast() -> None:
    cast = read_cast((HOME / "cast.json").read_text(encoding="utf-8"), policy=IdentityPolicy(), secret=bytes(32))

    transcripts = shipped()

    assert 60 <= sum(len(transcript.lines) for transcript in transcripts) <= 120
    assert {transcript.agent for transcript in transcripts} == set(cast)
    assert len({transcript.session for transcript in transcripts}) == len(transcripts)


def test_the_agents_share_two_themes_and_each_contact_is_alone_in_the_sink() -> None:
    native = json.loads((HOME / "hermes-memory.json").read_text(encoding="utf-8"))
    policy = IdentityPolicy(aliases=native["identity_aliases"])

    cast = read_cast((HOME / "cast.json").read_text(encoding="utf-8"), policy=policy, secret=bytes(32))

    agents = [figure for figure in cast.values() if not figure.is_contact]
    contacts = [figure for figure in cast.values() if figure.is_contact]
    assert sorted(figure.theme for figure in agents) == ["marketing", "marketing", "operations"]
    assert {figure.theme for figure in contacts} == {DIRECT_MESSAGES}
    assert len({figure.subject for figure in contacts}) == 2


def test_what_a_question_expects_was_written_somewhere() -> None:
    said = " ".join(line.content for transcript in shipped() for line in transcript.lines)
    notes = " ".join(path.read_text(encoding="utf-8") for path in (HOME / "memories").iterdir())
    orders = " ".join(map(order_line, range(150)))

    missing = [one.expected for one in QUESTIONS if one.expected not in f"{said} {notes} {orders} 22 May"]

    assert missing == []


def test_no_two_messages_of_the_burst_are_alike() -> None:
    assert len(set(map(order_line, range(MOST)))) == MOST


def judged(receipts: list[UUID], stored: list[tuple[UUID, str]], *, accepted: int) -> tuple[int, int, bool]:
    killed = Killed(receipts=receipts, status=-9)
    found = aftermath(killed, accepted=accepted, in_store=0, in_spool=accepted, stored=stored, seconds=0.0)
    return found.lost, found.duplicates, found.exactly_once


def test_every_receipt_stored_once_is_a_clean_aftermath_also_with_one_whose_receipt_did_not_get_out() -> None:
    one, two, three = uuid4(), uuid4(), uuid4()

    assert judged([one, two], [(one, "a"), (two, "b")], accepted=2) == (0, 0, True)
    assert judged([one, two], [(one, "a"), (two, "b"), (three, "c")], accepted=3) == (0, 0, True)


def test_a_lost_a_doubled_and_an_unaccounted_message_are_told() -> None:
    one, two = uuid4(), uuid4()

    assert judged([one, two], [(one, "a")], accepted=2) == (1, 0, False)
    assert judged([one, two], [(one, "a"), (two, "b"), (two, "b")], accepted=2) == (0, 1, False)
    assert judged([one, two], [(one, "a"), (two, "a")], accepted=2) == (0, 1, False)
    assert judged([one], [(one, "a")], accepted=2) == (0, 0, False)


@pytest.mark.parametrize(("promises", "kept"), [([], False), ([True], True), ([True, False], False)])
def test_a_report_is_good_when_there_were_promises_and_all_were_kept(promises: list[bool], kept: bool) -> None:
    report = Report(home=Path("nowhere"))
    for number, outcome in enumerate(promises):
        report.promise(str(number), outcome)

    assert report.kept is kept
    assert [promise.text for promise in report.broken] == [str(n) for n, good in enumerate(promises) if not good]


def test_a_typed_line_names_who_asks_where_and_what() -> None:
    names = {"sales": 1, "marketing": 2}

    plain = parse_request("and now?", names=names, last="sales")
    full = parse_request(" @marketing scope:all what is new? ", names=names, last="sales")
    chosen = parse_request("@marketing", names=names, last="sales")

    assert (plain.who, plain.scope, plain.text) == ("sales", "current", "and now?")
    assert (full.who, full.scope, full.text) == ("marketing", "all", "what is new?")
    assert (chosen.who, chosen.text) == ("marketing", "")


def test_a_typed_line_for_nobody_names_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="@sales"):
        parse_request("@nobody hello", names={"sales": 1}, last="sales")


def test_a_text_is_cut_to_columns_not_to_characters() -> None:
    assert display_width("样品") == 4
    assert fit("short", 10) == "short"
    assert fit("one two three", 8) == "one two…"
    assert display_width(fit("样品什么时候可以寄出", 9)) <= 9
    assert fit("a\nb\x1b[31m c", 20) == "a b[31m c"


def test_a_long_text_keeps_the_passage_in_sight() -> None:
    text = f"{'before ' * 40}the code is 7294 {'after ' * 40}"

    lines = paragraph(text, 60, 2, around="the code is 7294")

    assert len(lines) == 2
    assert "the code is 7294" in " ".join(lines)
    assert all(display_width(line) <= 60 for line in lines)
    assert paragraph("fits", 60, 2, around="elsewhere") == ["fits"]


def test_lines_break_between_words_and_use_their_whole_width() -> None:
    assert paragraph("one two three four", 7, 9) == ["one two", "three", "four"]
    assert paragraph("one two three four", 13, 9) == ["one two three", "four"]


def test_a_word_wider_than_the_line_is_broken() -> None:
    assert paragraph("x" * 25, 10, 5) == ["x" * 10, "x" * 10, "x" * 5]


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("", True), ("1", False)])
def test_colour_is_for_terminals_of_people_who_did_not_refuse_it(
    monkeypatch: pytest.MonkeyPatch, no_color: str | None, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    screen, file = _Screen(), io.StringIO()

    Terminal(screen).line("a ", ("b", Style.GOOD))
    Terminal(file).line("a ", ("b", Style.GOOD))

    assert ("\x1b[32m" in screen.getvalue()) is coloured
    assert file.getvalue() == "a b\n"


def test_a_story_for_nobody_is_not_written() -> None:
    Terminal(None).line("a" * COLUMNS)
