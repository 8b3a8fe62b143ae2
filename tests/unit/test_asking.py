from __future__ import annotations

import time

from tests.support.tables import for_each

from hermes_memory.domain.asking import only_asks, read
from hermes_memory.domain.telling import tells_number, tells_time


@for_each(
    "text",
    [
        "Why?",
        "And the orders that hang?",
        "Good. How long do we keep the nightly backups?",
        "¿Y qué trabajos dejan más?",
        "А если отдать перевозчику? Успеет?",
        "能不能只改固件？",
        "هل انتهى العمل؟",
        "What did it say? And when?\n",
    ],
)
def test_a_text_of_questions_only_asks(text: str) -> None:
    assert only_asks(text)


@for_each(
    "text",
    [
        "",
        "On Friday.",
        "The build failed because of a deadlock with the vacuum. Shall I try again?",
        "GET /orders?id=7",
        "Is it Friday? Yes, it is Friday.",
        "好，那就永盛，先做两千个，打样这个星期五寄出。行吗？",
        "word " * 200 + "?",
    ],
)
def test_a_text_that_states_something_does_not_only_ask(text: str) -> None:
    assert not only_asks(text)


@for_each("text", ["?" * 100_000, "a?" * 50_000, "." * 100_000 + "?", " " * 100_000 + "?"])
def test_a_hostile_text_is_judged_at_once(text: str) -> None:
    started = time.thread_time()
    only_asks(text)
    cost = time.thread_time() - started

    assert cost < 1.0


@for_each(
    "question",
    [
        "When did Caroline move?",
        "And since when do we do that?",
        "Caroline, when is it?",
        "On which day do we ship?",
        "Seit wann läuft das?",
        "In welchem Jahr war das?",
        "¿Cuándo abre el taller?",
        "Quand partons-nous ?",
        "Когда встреча?",
        "В каком году это было?",
        "这批货什么时候发？",
        "いつ出荷しますか。",
        "언제 출시해요?",
    ],
)
def test_a_question_for_a_time_is_known_in_many_languages(question: str) -> None:
    assert read(question).time
    assert not read(question).number


@for_each(
    "question",
    [
        "What do we charge when a truck has to wait?",
        "Who decides?",
        "Dime qué pasa cuando llueve",
        "Что делать, если сервер молчит?",
        "猫的名字是什么？",
        "",
    ],
)
def test_a_word_that_joins_clauses_does_not_ask_for_a_time(question: str) -> None:
    assert not read(question).time


@for_each(
    "question",
    [
        "How many nodes are there?",
        "For how long do we keep them?",
        "Wie viele Knoten sind es?",
        "Wie lange bleiben sie?",
        "¿Cuántas horas son?",
        "Combien de temps faut-il ?",
        "Сколько это стоит?",
        "返工用了多久？",
        "いくらですか。",
        "얼마예요?",
    ],
)
def test_a_question_for_a_number_is_known_in_many_languages(question: str) -> None:
    assert read(question).number


@for_each(
    "text",
    [
        "We moved in May.",
        "Since last week, I think.",
        "Am Dienstag.",
        "Nächste Woche.",
        "El próximo lunes",
        "В прошлом месяце",
        "Ship it on 2026-03-18.",
        "At 10:31.",
        "Am 3. 5. also",
        "下周三发货",
        "明日出します",
        "3월에 시작",
    ],
)
def test_a_time_is_seen_in_a_text(text: str) -> None:
    assert tells_time(text)


@for_each("text", ["", "No idea.", "Ask Wanda for edit rights.", "Vielleicht.", "Не знаю.", "不知道。"])
def test_no_time_and_no_number_are_seen_where_there_is_none(text: str) -> None:
    assert not tells_time(text)
    assert not tells_number(text)


@for_each("text", ["6 GB", "Two of them", "zwölf", "tres", "пять", "两千个", "３台"])
def test_a_number_is_seen_in_a_text(text: str) -> None:
    assert tells_number(text)


@for_each(
    ("question", "named"),
    [
        ("What did Wanda say?", {"Wanda Ros"}),
        ("What is José's plan?", {"José"}),
        ("Wo war Jose?", {"José"}),
        ("what did wanda say?", set()),
        ("Will it rain?", {"Will"}),
        ("will it rain?", set()),
        ("王伟说了什么？", {"王伟"}),
        ("Did Wanda tell José what Will and 王伟 said?", set()),
        ("Who decides?", set()),
    ],
)
def test_speakers_are_named_as_names_are_written_and_all_of_them_tell_nothing_apart(
    question: str, named: set[str]
) -> None:
    assert read(question).names(["Wanda Ros", "José", "Will", "王伟"]) == named


def test_who_speaks_without_a_name_is_another_one_and_never_named() -> None:
    assert read("What did Ana say?").names(["Ana", ""]) == {"Ana"}
    assert read("What did Ana say?").names(["Ana"]) == set()


@for_each("fragment", ["when ", "¿", "how many ", "1,", "от ", "年", "\n(", "и "])
def test_reading_takes_little_time_whatever_the_text_is(fragment: str) -> None:
    text = fragment * (200_000 // len(fragment))
    started = time.monotonic()
    for read_by in (read, tells_time, tells_number):
        read_by(text)

    assert time.monotonic() - started < 30
