"""What is our own in whatever wrapping it is handed back, and what others write that resembles it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

from tests.support.growth import grows_linearly, on_repeated
from tests.support.ranking_rows import entry, hit, turn
from tests.support.tables import for_each

from hermes_memory.domain.cleaning import clean_text
from hermes_memory.domain.echoes import without_recalled
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.domain.rendering import entry_payload, hit_payload, render_block
from hermes_memory.hermes.tool_json import result_json

READER = Caller(theme=Theme("marketing"))
NOTE = entry(1, "The launch moved to 9 May, and Dana's team signs it off")
SAID = turn(2, 'The vault code is with Mr "Q" Quillwort \\ C:\\x', speaker="Ana")
HITS = [hit(NOTE), hit(SAID)]
PAYLOADS = [hit_payload(each, caller=READER) for each in HITS]
RECALLED = result_json(hits=PAYLOADS, count=2, left_out=0, scope="current", degraded=[], trace_id="x")
PROFILE = result_json(entries=[entry_payload(NOTE, caller=READER)], count=1, left_out=0)
REMEMBERED = result_json(stored=True, entry=entry_payload(NOTE, caller=READER))
NOTE_LINE, SAID_LINE = render_block(HITS, caller=READER, token_budget=2_000, nonce="3f9c2e1b").split("\n")[2:4]
TOLD = ("9 May", "Dana", "Quillwort", "vault")


def in_a_string(answer: str) -> str:
    return json.dumps({"tool": "recall_memory", "output": answer})


def in_two_strings(answer: str) -> str:
    return json.dumps({"result": in_a_string(answer)})


def beside_words(answer: str) -> str:
    return json.dumps({"output": f"Here it is: {answer} as of today"})


def as_python(answer: str) -> str:
    return repr(json.loads(answer))


def in_lines(answer: str) -> str:
    return json.dumps(json.loads(answer), indent=2, ensure_ascii=False)


def as_it_is(answer: str) -> str:
    return answer


def lines_in_a_string(answer: str) -> str:
    return in_a_string(in_lines(answer))


def in_quoted_lines(answer: str) -> str:
    return "".join(f"> {line}\n" for line in in_lines(answer).split("\n"))


WRAPPINGS = [
    as_it_is, in_a_string, in_two_strings, beside_words, as_python, in_lines, lines_in_a_string, in_quoted_lines,
]  # fmt: skip
ANSWERS = {
    "recalled": RECALLED,
    "profile": PROFILE,
    "remembered": REMEMBERED,
    "the hits": json.dumps(PAYLOADS),
    "one hit": json.dumps(PAYLOADS[1]),
    "one entry": json.dumps(entry_payload(NOTE, caller=READER), ensure_ascii=False),
    "hits line by line": "\n".join(map(json.dumps, PAYLOADS)),
    "a hit among others": json.dumps([{"id": 1}, *PAYLOADS]),
}


def tells(text: str) -> list[str]:
    return [word for word in TOLD if word in text]


@for_each("wrap", WRAPPINGS)
@for_each("answer", [RECALLED, PROFILE, REMEMBERED, json.dumps(PAYLOADS), json.dumps(PAYLOADS[1])])
def test_an_answer_is_known_however_it_is_wrapped(answer: str, wrap: Callable[[str], str]) -> None:
    kept = clean_text(f"I have looked.\n{wrap(answer)}\nThat is all.", max_chars=10**6)

    assert tells(kept) == []
    assert kept.startswith("I have looked.")
    assert kept.endswith("That is all.")


@for_each("name", ANSWERS)
def test_every_answer_and_part_of_one_is_known(name: str) -> None:
    assert tells(without_recalled(ANSWERS[name])) == []


@for_each("answer", [RECALLED, PROFILE, REMEMBERED, json.dumps(PAYLOADS), json.dumps(PAYLOADS[1])])
@for_each("wrap", [as_it_is, in_a_string, in_two_strings, as_python, in_lines])
def test_an_answer_that_is_cut_off_at_its_end_is_known(answer: str, wrap: Callable[[str], str]) -> None:
    wrapped = wrap(answer)

    for end in range(len(wrapped) // 4, len(wrapped), 7):
        for rest in ("", "… [truncated]", "\nI go on."):
            kept = without_recalled(wrapped[:end] + rest)

            assert tells(kept) == []
            assert kept.endswith("I go on.") == (rest == "\nI go on.")


@for_each("answer", [RECALLED, PROFILE, REMEMBERED, json.dumps(PAYLOADS[1])])
@for_each("wrap", [as_it_is, in_a_string, as_python, in_lines])
def test_an_answer_that_is_cut_off_at_its_beginning_is_known(answer: str, wrap: Callable[[str], str]) -> None:
    wrapped = wrap(answer)

    for begin in range(1, len(wrapped), 7):
        for before in ("", "[truncated] …", "I have looked.\n"):
            kept = without_recalled(f"{before}{wrapped[begin:]}\nI go on.")

            assert tells(kept) == []
            assert kept.endswith("I go on.")
            assert kept.startswith("I have looked.\n") == before.startswith("I")


@for_each("wrap", [as_it_is, in_lines])
@for_each("gap", ["…", "\n[200 characters omitted]\n", " ... "])
def test_an_answer_with_its_middle_cut_out_is_known(wrap: Callable[[str], str], gap: str) -> None:
    wrapped = wrap(RECALLED)

    for begin in range(20, len(wrapped) // 2, 9):
        for end in range(begin + 20, len(wrapped), 31):
            assert tells(without_recalled(f"{wrapped[:begin]}{gap}{wrapped[end:]}")) == []


@for_each("answer", [RECALLED, PROFILE, REMEMBERED])
@for_each("wrap", [as_it_is, in_a_string, in_lines])
def test_nothing_is_left_of_a_message_that_is_an_answer_alone(answer: str, wrap: Callable[[str], str]) -> None:
    assert clean_text(wrap(answer), max_chars=10**6) == ""


RECEIPTS = [
    result_json(accepted=True, operation=uuid.UUID(int=7)),
    result_json(forgotten=True, id=uuid.UUID(int=7)),
]


@for_each("message", [*RECEIPTS, f" {RECEIPTS[0]}\n", "\n".join(RECEIPTS)])
def test_nothing_is_left_of_answers_that_tell_nothing_but_an_id(message: str) -> None:
    assert without_recalled(message) == ""


@for_each("receipt", RECEIPTS)
@for_each("wrap", [as_it_is, in_a_string])
def test_what_resembles_such_an_answer_stays_in_a_question_about_it(receipt: str, wrap: Callable[[str], str]) -> None:
    question = f"My API answers {wrap(receipt)} and then hangs, why?"

    assert without_recalled(question) == question


@for_each("line", [NOTE_LINE, SAID_LINE])
@for_each(
    "quotes",
    [
        "„|“", "„|”", "«|»", "»|«", "‹|›", "‘|’", "‚|‘", "'|'", "「|」", "`|`", "|", "« | »", "'|", "„|",
    ],
)  # fmt: skip
@for_each("form", ["{}", "> {}", "1. {}", "* {}", "  {}", "| {} |", "- {}"])
def test_a_line_of_a_block_is_known_in_whatever_quotes(line: str, quotes: str, form: str) -> None:
    before, after = quotes.split("|")
    echo = form.format(line.removeprefix("- ").replace("“", before).replace("”", after))

    assert clean_text(echo, max_chars=10**6) == ""
    assert without_recalled(f"Noted:\n{echo}\nSo be it.") == "Noted:\nSo be it."


def test_what_is_said_behind_such_a_line_is_kept() -> None:
    echo = NOTE_LINE.replace("“", "«").replace("”", "»")

    assert without_recalled(f"{echo} was moved again, to 12 May") == "  was moved again, to 12 May"


@for_each("dash", ["—", "–", "->", "--", "-"])
@for_each("form", ["{}", "> {}", "{}\n"])
def test_a_correction_behind_a_line_without_quotes_is_kept(dash: str, form: str) -> None:
    line = form.format(f"- 2026-05-03 entry (memory), from user: Launch on 9 May {dash} that is wrong, it is 12 May")

    assert without_recalled(line).strip() == f"{dash} that is wrong, it is 12 May"


def test_a_dash_within_quotes_ends_no_line_of_a_block() -> None:
    for before, behind in ("«»", "''", ("„", "")):
        echo = f"- 2026-05-03 entry (memory), from user: {before}Launch — on 9 May{behind}"

        assert without_recalled(f"Noted:\n{echo}\nSo be it.") == "Noted:\nSo be it."


REST = '", "at": "2024-06-01", "origin": "user", "theme": "a", "own": true}'
HEAD = f'{{"id": "{uuid.UUID(int=7)}", "kind": "entry", "content": "'
OWN_JSON = [
    '{"output": "{\\"hits\\": 3, \\"misses\\": 1}"}',
    '{"output": "{\\"hits\\": [1, 2], \\"count\\": 2}"}',
    '{"hits": [{"id": 7, "kind": "entry", "content": "my own search"',
    '{"hits": [{"url": "https://example.org", "content": "my own search"}], "count": 1',
    '{"hits": [{"_id": "1", "_source": {"content": "9 May"}}], "count": 1, "scope": "all"}',
    '{"entries": [{"id": "a", "kind": "entry", "content": "of my diary"}], "count": 1}',
    '[{"id": 1, "kind": "entry", "content": "of my diary", "at": "2026-05-03"}]',
    f'{HEAD}of my diary"}}',
    f'{HEAD}of my diary", "at": "2026-05-03", "theme": "dark"}}',
    HEAD.replace("entry", "page") + 'x", "at": "1", "origin": "a", "theme": "b", "own": true}',
    '{"stored": true, "entry": "the launch is on 9 May"}',
    '{"stored": true, "entry": {"id": 7, "content": "mine"}}',
    '{"accepted": true, "operation": "appendectomy"}',
    '{"forgotten": true, "id": 7}',
    f'{{"accepted": true, "operation": "{uuid.UUID(int=7)}", "comment": "mine"}}',
    "{'hits': [{'id': 7, 'kind': 'entry', 'content': 'mine'}]}",
    'I wrote "the hits, the entries, my own kind of list" [{"id": 1}, {"id": 2}]',
    'They said: "{\\"own\\": true}" and left',
    'log: {"kind": "turn", "own": "goal"',
    '{"content": "of my diary", "at": "2026-05-03", "origin": "home", "theme": "dark", "own": true}',
    'my diary", "at": "2026-05-03", "origin": "user", "mood": "good"}',
    '> {"hits": [1, 2],\n>  "own": true}',
    'A path "C:\\\\own\\\\kind" and a brace {\\"kind\\": 1',
]

OWN_LINES = [
    "- 2026-05-03 entry (memory), from Ana: „Launch on 9 May“",
    "2026-05-03 entry (memory), from the agenda: launch",
    "2026-05-03 turn, user: no hour, so it is not ours",
    "2026-05-03 14:00 turn, Ana: «hello»",
    "2026-05-03 14:00 turn left, user: «hello»",
    "2026-05-03 14:00 turn, Ana (guest): 'hello'",
    "In 2026-05-03 entry (diary), from user: «hello»",
    "2026-05-03 entry (user), from user, with love: 'hello'",
    "He wrote „2026-05-03“: entry (memory), from user",
    "in turn, user: hello",
    "2026-05-03: «Launch on 9 May»",
    "my entry (memory), from user: hello",
]


@for_each("text", [*OWN_JSON, *OWN_LINES])
def test_what_somebody_else_writes_in_such_words_is_kept(text: str) -> None:
    for whole in (text, f"See:\n{text}\nThat is mine."):
        assert without_recalled(whole) == whole


@for_each("number", [1, 40, 400])
@for_each("other", ['{"id": 5, "content": "mine"}', '{"entry": 5}', '{"own": [{"turn": {"id": 1}}]}'])
def test_an_answer_behind_many_objects_of_others_is_known(number: int, other: str) -> None:
    ordinary = f"{other}\n" * number

    assert without_recalled(f"{ordinary}{in_a_string(RECALLED)}") == ordinary
    assert tells(without_recalled(f"[{ordinary.replace(chr(10), ',')}{PROFILE}]")) == []


@for_each(
    "unit",
    [
        f"{RECEIPTS[0]}\n",
        HEAD, f'{{"hits": [{HEAD}', f"[{HEAD}", HEAD.replace('"', '\\"'), HEAD.replace('"', "'"), f"{HEAD}x\n",
        f"{HEAD}\\", '{"entry": ', '[{"own": ', '{"entry": {"id": "a", "b": ', '> {"entry": 1}\n', '{"own": "',
        '{"id": x\n',
        f'x{REST}', f"{REST}\n", REST.replace('"', '\\"'), '", "at": "2024-06-01", "origin": "user", ', REST[:-7],
        '{\\"hits\\": [', '"{\\"hits\\"', '[{"id": ', '{"id": 1}', '[{"id":1},', "{\\\\\\\"hits\\\\\\\":", '{"a":"b",',
        "2026-05-03 entry (memory), from user: ", "2026-05-03 entry (memory), from user: «",
        "\n2026-05-03 entry (memory), from user: a — ",
        "- 2026-05-03 entry (user), ",
        "2026-05-03 entry (memory), from user: '\n", "2026-05-03 10:00 turn, a ", "entry (",
    ],
)  # fmt: skip
def test_no_repetition_makes_the_look_for_them_slower_than_linear(unit: str) -> None:
    assert grows_linearly(
        on_repeated(without_recalled, unit, ending=' "hits" "own" entry (memory), from user'), largest=48_000
    )
