from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly, on_repeated
from tests.support.tables import for_each

from hermes_memory.domain.lexemes import (
    MAX_DOCUMENT_LEXEMES,
    MAX_QUERY_LEXEMES,
    Analyzer,
    content_words,
    indexed_row,
    indexed_text,
)
from hermes_memory.domain.model import Entry, Origin, Role, RowId, SessionId, Target, Theme, Turn


def unstemmed(word: str) -> str:
    return word


def without_s(word: str) -> str:
    return word.removesuffix("s")


analyzer = Analyzer(stem=unstemmed)


def test_words_are_casefolded_stemmed_and_kept_in_order_with_repetition() -> None:
    assert Analyzer(stem=without_s).analyze("Rockets fly. ROCKET rockets!") == ["rocket", "fly", "rocket", "rocket"]


@for_each(
    ("one", "other"),
    [
        ("café", "CAFE"),
        ("Straße", "STRASSE"),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("cafe\u0301", "café"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
        ("ﬁle", "file"),
        ("zero\u200bwidth", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
        ("ещё", "еще"),
        ("ﾃｽﾄ", "テスト"),
        ("1,250,000", "1250000"),
    ],
)
def test_spellings_of_the_same_word_meet(one: str, other: str) -> None:
    assert analyzer.analyze(one) == analyzer.analyze(other) != []


def test_letters_that_only_look_accented_stay_apart() -> None:
    assert analyzer.analyze("мой") == ["мой"]
    assert analyzer.analyze("が") != analyzer.analyze("か")


@for_each(
    ("text", "lexemes"),
    [
        ("E40213", ["e40213", "40213"]),
        ("PAY-1187", ["pay-1187", "pay", "1187"]),
        ("db-fra-03", ["db-fra-03", "db", "fra", "03"]),
        ("src/api/auth.py", ["src/api/auth.py", "src", "api", "auth.py", "auth", "py"]),
        ("--dry-run", ["--dry-run", "dry-run", "dry", "run"]),
        ("camelCase", ["camelcase", "camel", "case"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("APIs", ["apis"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("5.4.1", ["5.4.1", "5", "4", "1"]),
        ("v5.4.1", ["v5.4.1", "5.4.1", "v5", "5", "4", "1"]),
        ("bob@example.com", ["bob@example.com", "bob", "example.com", "example", "com"]),
        ("10.0.0.1:5432", ["10.0.0.1:5432", "10.0.0.1", "10", "0", "0", "1", "5432"]),
        ("a3f9c2e1b0d4", ["a3f9c2e1b0d4"]),
        ("C++ and C#", ["c++", "c", "and", "c#", "c"]),
        ("1,234,56", ["1", "234", "56"]),
        ("5432", ["5432"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("8th", ["8th", "8", "th"]),
    ],
)
def test_identifiers_are_kept_whole_and_split(text: str, lexemes: list[str]) -> None:
    assert analyzer.analyze(text) == lexemes


def test_an_identifier_is_found_in_a_long_question_whatever_its_case() -> None:
    question = analyzer.query_lexemes("what did we do about error e40213 last week on the database host DB-FRA-03")

    assert {"e40213", "db-fra-03"} <= set(question) & set(analyzer.analyze("E40213 on db-fra-03: disk full"))


def test_an_iso_date_meets_the_written_date() -> None:
    written = set(analyzer.analyze(indexed_text("standup", at=datetime(2023, 5, 8, tzinfo=UTC))))

    assert {"8", "may", "2023"} <= written & set(analyzer.analyze("2023-05-08"))
    assert {"8", "may", "2023"} <= written & set(analyzer.analyze("2023-05-08T14:03:00Z"))


@for_each(
    ("text", "lexemes"),
    [
        ("北京大学", ["北京", "京大", "大学"]),
        ("茶", ["茶"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("使用PostgreSQL", ["使用", "postgresql", "postgre", "sql"]),
        ("3月8日", ["3", "月", "8", "日"]),
    ],
)
def test_scripts_without_spaces_become_pairs_of_characters(text: str, lexemes: list[str]) -> None:
    assert analyzer.analyze(text) == lexemes


def test_vowel_signs_do_not_split_a_word() -> None:
    assert analyzer.analyze("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_a_query_is_distinct_and_loses_its_stop_words_in_several_languages() -> None:
    assert analyzer.query_lexemes("When is the launch of the launch pad?") == ("launch", "pad")
    assert analyzer.query_lexemes("Wann ist der Start für uns?") == ("start", "fur")
    assert analyzer.query_lexemes("¿Cuándo es el lanzamiento?") == ("lanzamiento",)
    assert analyzer.query_lexemes("Когда у нас запуск?") == ("запуск",)


@for_each(
    ("question", "lexemes"),
    [
        ("明天北京的气温是多少？", ("明天", "天北", "北京", "京的", "的气", "气温", "温是")),
        ("为什么第三批产品会发烫？", ("第三", "三批", "批产", "产品", "品会", "会发", "发烫")),
        ("スタジオはどこですか。", ("スタ", "タジ", "ジオ", "オは")),
        ("猫ですか", ("猫で",)),
        ("어디에서 회의합니까?", ("회의",)),
        ("酒吧在哪里", ("酒吧", "吧在")),
    ],
)
def test_a_query_loses_the_phrases_that_only_ask_in_scripts_without_spaces(
    question: str, lexemes: tuple[str, ...]
) -> None:
    assert analyzer.query_lexemes(question) == lexemes


@for_each(
    ("question", "word"),
    [
        ("いつもの店はどこですか", "いつも"),
        ("いつも何時に起きますか", "いつも"),
        ("ことばの教室はいつですか", "ことば"),
        ("ことしの予算はいくらですか", "ことし"),
        ("そのまま提出したのはどの書類ですか", "そのまま"),
        ("こころの相談室はどこにありますか", "こころ"),
        ("もの忘れ外来は何曜日ですか", "もの忘れ"),
        ("くだものの仕入れ先はどこですか", "くだもの"),
        ("からだの調子はどうですか", "からだ"),
        ("ぶどうの収穫はいつですか", "ぶどう"),
        ("新しい案を思いついたのは誰ですか", "思いつ"),
        ("吗啡的剂量是多少", "吗啡"),
        ("研究所以外还有谁参加", "研究所"),
        ("事故的原因为何没有说明", "原因"),
        ("언제나처럼 누가 문을 엽니까?", "언제나"),
        ("왜곡된 자료는 어디에 있습니까?", "왜곡"),
        ("봉우리까지 얼마나 걸립니까?", "봉우리"),
    ],
)
def test_a_word_that_holds_a_phrase_which_asks_elsewhere_is_asked_for_whole(question: str, word: str) -> None:
    asked = analyzer.query_lexemes(question)

    assert set(analyzer.analyze(word)) <= set(asked)


@for_each(
    ("question", "lexemes"),
    [
        ("什么时候开会", ("开会",)),
        ("会议是什么", ("会议", "议是")),
        ("いつですか、会議は", ("会議", "議は")),
        ("この店のものはいくらですか", ("店の", "のは", "はい")),
        ("언제 회의를 합니까", ("회의", "의를")),
    ],
)
def test_what_only_asks_is_taken_out_beside_words_that_hold_it(question: str, lexemes: tuple[str, ...]) -> None:
    assert analyzer.query_lexemes(question) == lexemes


@pytest.mark.parametrize("question", ["为什么？", "いつですか", "무엇입니까?"])
def test_a_query_that_only_asks_keeps_its_pairs(question: str) -> None:
    assert analyzer.query_lexemes(question) == tuple(dict.fromkeys(analyzer.analyze(question)))


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert analyzer.query_lexemes("Who is it?") == ("who", "is", "it")


def test_words_that_carry_meaning_in_another_language_are_no_stop_words() -> None:
    assert analyzer.query_lexemes("car die son war sin mit AI ad OS comment C") == (
        *("car", "die", "son", "war", "sin", "mit", "ai", "ad", "os", "comment", "c"),
    )


def test_a_document_keeps_its_stop_words_because_a_query_may_consist_of_them() -> None:
    assert analyzer.analyze("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_a_long_query_keeps_the_words_of_the_question_beside_the_identifiers_of_what_is_pasted() -> None:
    log = " ".join(f"{number:05d}-{number * 7919:08x}" for number in range(60))

    lexemes = analyzer.query_lexemes(f"Why did the certificate rotation fail yesterday? {log}")

    assert len(lexemes) <= MAX_QUERY_LEXEMES
    assert {"certificate", "rotation", "fail", "yesterday"} <= set(lexemes)


def test_of_a_very_long_query_the_beginning_and_the_end_count() -> None:
    lexemes = analyzer.query_lexemes("zebra " + "filler " * 100_000 + "giraffe")

    assert set(lexemes) == {"zebra", "filler", "giraffe"}


def test_a_very_long_query_is_not_cut_inside_a_word() -> None:
    assert set(analyzer.query_lexemes("abcdefg " * 1_000)) == {"abcdefg"}


def test_nothing_to_search_for_gives_no_lexemes() -> None:
    for text in ("", " \n", "👍", "\x00", "\ud83d", "... --- !!!"):
        assert analyzer.analyze(text) == []
        assert analyzer.query_lexemes(text) == ()


def test_a_stemmer_that_leaves_nothing_leaves_the_word() -> None:
    assert Analyzer(stem=lambda word: "").analyze("word") == ["word"]


texts = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="aB3é漢が-._/:@#+=, \n\x00\ud83d", max_size=400),
    st.text(alphabet="𠀀𐍈ا한ж", min_size=60, max_size=200),
)


@given(texts)
def test_every_lexeme_is_bounded_and_can_be_stored(text: str) -> None:
    for lexeme in (*analyzer.analyze(text), *analyzer.query_lexemes(text)):
        assert 0 < len(lexeme) <= 64
        assert len(lexeme.encode()) <= 255
        assert "\x00" not in lexeme
        assert not any(map(str.isspace, lexeme))


@given(texts)
def test_what_a_query_asks_for_is_what_a_document_with_the_same_words_holds(text: str) -> None:
    query = analyzer.query_lexemes(text)

    assert set(query) <= set(analyzer.analyze(text))
    assert len(query) == len(set(query)) <= MAX_QUERY_LEXEMES
    assert query == analyzer.query_lexemes(text)
    assert bool(query) == bool(analyzer.analyze(text))


def test_a_document_is_indexed_up_to_a_number_of_lexemes() -> None:
    words = [f"word{chr(97 + number % 26)}" for number in range(95_000)]

    assert analyzer.analyze(" ".join(words)) == words[:MAX_DOCUMENT_LEXEMES]


@for_each(
    "unit", ["word ", "a.b/c-", "x", "漢", "1,000", "--", "Ab", "é\u0301", "a_", "हि", "\u200b", "A", "-1", "v1."]
)
def test_time_grows_with_the_length_of_the_text_and_not_faster(unit: str) -> None:
    assert grows_linearly(on_repeated(analyzer.analyze, unit), largest=400_000)


def test_an_amount_that_ends_wrongly_is_not_looked_for_again_within_itself() -> None:
    assert grows_linearly(on_repeated(analyzer.analyze, ",234", ending=",2"), largest=400_000)


def test_the_content_words_of_a_text_leave_out_what_only_holds_it_together() -> None:
    assert content_words("The counter is now 9") == {"counter", "9"}


def test_an_entry_is_indexed_with_its_date_and_a_turn_with_its_speaker_too() -> None:
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    row = RowId(UUID(int=1))
    entry = Entry(
        id=row,
        theme=Theme("a"),
        subject=None,
        target=Target.MEMORY,
        content="Launch moved",
        at=at,
        updated_at=at,
        origin=Origin.AGENT,
    )
    turn = Turn(
        id=row,
        theme=Theme("a"),
        subject=None,
        session=SessionId("s"),
        role=Role.USER,
        content="I moved",
        at=at,
        origin=Origin.USER,
        position=0,
        speaker="Ana",
    )

    assert indexed_row(entry) == "[8 May 2023] Launch moved"
    assert indexed_row(turn) == "[8 May 2023] Ana: I moved"


@given(
    st.lists(
        st.sampled_from(["Rockets", "fly", "C++", "--verbose", "1,000", "東京都", "v1.2", "a" * 70, "x-" * 50]),
        max_size=30,
    )
)
def test_an_analyser_that_has_met_a_text_finds_in_it_what_a_new_one_finds(words: list[str]) -> None:
    text = " ".join(words)
    seasoned = Analyzer(stem=without_s)
    seasoned.analyze(text)

    assert seasoned.analyze(text) == Analyzer(stem=without_s).analyze(text)


@for_each("word", ["Rockets", "a" * 70, "src/api/auth.py", "東京都"])
def test_a_long_text_is_analysed_as_its_parts_are(word: str) -> None:
    assert analyzer.analyze(f"{word} " * 900) == (analyzer.analyze(word) * 900)[:MAX_DOCUMENT_LEXEMES]
