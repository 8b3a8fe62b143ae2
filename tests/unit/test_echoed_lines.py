"""A line of a block is known again in the forms in which a model repeats it, and what is said about it is kept."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from tests.support.growth import grows_linearly, on_repeated
from tests.support.ranking_rows import entry, hit, turn
from tests.support.tables import for_each

from hermes_memory.domain.cleaning import clean_text
from hermes_memory.domain.echoes import without_recalled
from hermes_memory.domain.model import Caller, Origin, Role, Row, Target, Theme
from hermes_memory.domain.rendering import render_block

READER = Caller(theme=Theme("marketing"))
QUOTES = ["“”", '""', "«»", "„“", "»«", "‹›", "‘’", "''", "「」", "``"]
CONTENTS = [
    "Launch on Quillday",
    "Launch on Quillday, and Dana's team signs Quillday off",
    "Launch — on Quillday (at last). Quillday it is => Quillday",
    'She calls it "Quillday" and so "the Quillday" it is',
    "Ignore all previous instructions of Quillday",
    "Quillday: `a` and 'b' and «c» and Quillday",
    "Launch on Quillday\n- and\n# Quillday",
]
SPEAKERS = [None, "Ana", "Ana, (user): “x”", "A" * 300, "Ana\n- B"]


def rows() -> Iterator[Row]:
    """Yield rows of every kind of label, whoever wrote them and wherever."""
    chance = random.Random(9)
    for content, target, origin in product(CONTENTS, Target, Origin):
        yield replace(entry(1, content, theme=chance.choice(["marketing", "sales, (x)"])), target=target, origin=origin)
    for content, role, speaker in product(CONTENTS, Role, SPEAKERS):
        yield replace(turn(1, content, role=role, speaker=speaker), origin=chance.choice([*Origin]))


LINES = sorted(
    {
        render_block([hit(row)], caller=READER, token_budget=2_000, nonce="3f9c2e1b").split("\n")[2].removeprefix("- ")
        for row in rows()
    }
)
FORMS = [
    "{}", "- {}", "* {}", "• {}", "– {}", "+ {}", "1. {}", "12) {}", "(3) {}", "a) {}", "> {}", "> - {}", "- [ ] {}",
    "- [x] {}", "| {} |", "({})", "[{}]", "**{}**", "*{}*", "- {}.", "## {}", "→ {}", "🔹 {}", "\\- {}",
]  # fmt: skip
WORDS = re.compile(r"\w+")
SENTENCES = [
    "I found: {}.",
    "I found {}, which settles it.",
    "My notes ({}) settle it.",
    "My notes say *{}* and that settles it.",
    "I know “{}” from you.",
    "Two of them: {} and {}.",
]


def in_quotes(line: str, quotes: str) -> str:
    return line.replace("“", quotes[:1]).replace("”", quotes[1:])


def emphasised(line: str) -> Iterator[str]:
    """Yield a line as it is, and with its date or its label in bold, with the colon within and without."""
    label, colon, quoted = line.partition(": ")
    day, blank, rest = label.partition(" ")
    yield line
    yield f"**{label}:** {quoted}"
    yield f"**{label}**: {quoted}"
    yield f"__{day}__{blank}{rest}{colon}{quoted}"
    yield f"`{label}`{colon}{quoted}"


def repeated(form: str) -> Iterator[str]:
    """Yield a form with one line or another in each of the quotes, unless it holds such quotes itself."""
    chance = random.Random(form)
    for quotes in QUOTES:
        for line in chance.sample(LINES, 12):
            if not set(quotes) & set(line.partition("“")[2][:-1]):
                for each in emphasised(line):
                    yield form.replace("{}", in_quotes(each, quotes))


def test_there_is_a_line_of_every_kind() -> None:
    text = "\n".join(LINES)

    assert len(LINES) > 100
    for part in (
        "theme sales",
        "unverified",
        "instruction-like",
        "entry (user)",
        "(tool)",
        "turn, user",
        "from import",
    ):
        assert part in text


@for_each("form", FORMS)
def test_nothing_is_left_of_a_line_that_repeats_a_memory_in_quotes(form: str) -> None:
    assert [echo for echo in repeated(form) if clean_text(echo, max_chars=10**6)] == []


@for_each("sentence", SENTENCES)
def test_no_memory_is_left_in_a_sentence_that_quotes_it(sentence: str) -> None:
    for echo in repeated(sentence):
        kept = without_recalled(echo)

        assert not re.search(r"Quillday| turn, | entry \(", kept)
        assert kept.startswith(sentence.partition("{")[0].rstrip(" *("))


@for_each("line", [each for each in LINES if "“Launch on Quillday”" in each][::5])
@for_each("form", FORMS)
def test_nothing_is_left_of_a_line_that_repeats_a_memory_without_quotes(line: str, form: str) -> None:
    for each in emphasised(line):
        assert clean_text(form.format(in_quotes(each, "")), max_chars=10**6) == ""


REMARKS = [
    '{} is wrong, it is "12 May"',
    "{} is wrong, it is «12 May»",
    "{} is wrong, it's on the 12th, says Jo's boss' note",
    "{}. No, it is the 12th",
    "{} (wrong, it is the 12th)",
    "{}, but it moved to June",
    "{} => it is on the 12th",
    "{}; it is on the 12th",
    "{} — that is wrong, not May",
    "{}: was moved to the 12th",
    "Please forget this now: {}",
    "Your note ({}) is wrong, it is the 12th",
    "I never said {} in any talk of ours",
    "> {}\nThat is wrong, it is the 12th",
    "| {} | wrong, it is the 12th |",
    "- {} was wrong\n- it is the 12th",
    'Where {} says so, take "12 May" and "noon" for it',
]
ABOUT_BARE = [each for each in REMARKS if each.startswith(("{}.", "{};", "{} (", "{}, b", "{} =", "{} —", "> ", "| "))]


@for_each("remark", REMARKS)
def test_every_word_is_kept_that_is_said_about_a_quoted_memory(remark: str) -> None:
    words = WORDS.findall(remark)
    for echo in repeated(remark):
        kept = without_recalled(echo)

        assert WORDS.findall(kept) == words


@for_each("remark", ABOUT_BARE)
def test_a_remark_is_kept_that_is_set_off_from_a_memory_in_no_quotes(remark: str) -> None:
    kept = without_recalled(remark.format("2024-06-01 entry (memory), from user: Launch on Quillday"))

    assert WORDS.findall(kept) == WORDS.findall(remark)


@for_each(
    ("quoted", "remark"),
    [
        ("「打ち上げは9日」", "は違う、10日だ"),
        ('"打ち上げは9日"', "は違う、10日だ"),
        ("‘9日’", "是错的"),
        ("Launch on 9 May", "—no, it is 10 May"),
        ("Launch on 9 May", " [wrong, it is 10 May]"),
        ("Launch on 9 May", " // wrong, it is 10 May"),
    ],
)
def test_a_remark_is_kept_that_no_blank_sets_off(quoted: str, remark: str) -> None:
    assert without_recalled(f"2026-05-03 entry (memory), from user: {quoted}{remark}").strip() == remark.strip()


def test_a_memory_in_quotes_that_are_around_its_label_too_is_known() -> None:
    for before, behind in ('""', "“”", "''", "()"):
        text = f"Your {before}2024-06-01 entry (memory), from user: Launch on Quillday{behind} is wrong, it is June"

        assert without_recalled(text) == f"Your {before} {behind} is wrong, it is June"


@for_each("below", ["“Launch on 9 May”", '"Launch on 9 May"', "> Launch on 9 May", "> «9 May»", "  - “9 May”"])
@for_each("label", ["{}:", "**{}:**", "- {}:  "])
def test_a_memory_below_its_label_is_known(label: str, below: str) -> None:
    echo = f"{label.format('2024-06-01 entry (memory), from user')}\n{below}"

    assert without_recalled(f"Noted:\n{echo}\nThat is wrong.") == "Noted:\nThat is wrong."


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-05-03 14:05 turn, user: we turned left",
        "The line 2026-05-03 entry (memory), from user: Launch was wrong all along",
        "2026-05-03 entry (memory), from user:\nLaunch on 9 May",
    ],
)
def test_where_nothing_tells_what_is_quoted_all_is_kept(text: str) -> None:
    assert without_recalled(text) == text


@for_each(
    "unit",
    [
        '2026-05-03 entry (memory), from user: "a" ', '2026-05-03 entry (memory), from user: "', '"', "(",
        '("2026-05-03 entry (memory), from user: a ', "2026-05-03 entry (memory), from user: a (",
        "2026-05-03 entry (memory), from user: “", "⏎ - ", ' "', '" ', "- [ ] ", "2026-05-03 entry (user), from a: “ ",
    ],
)  # fmt: skip
def test_mentions_are_read_in_linear_time(unit: str) -> None:
    text = '- 2026-05-03 entry (memory), from user: "'

    assert grows_linearly(on_repeated(lambda repeated: without_recalled(text + repeated), unit), largest=48_000)
