from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.support.tables import for_each

from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.domain.lexemes import Analyzer


@for_each(
    ("words", "stem"),
    [
        (("launch", "launched", "launches", "launching"), "launch"),
        (("москва", "москвой", "москве"), "москв"),
        (("postgresql",), "postgresql"),
        (("kunde", "kunden"), "kund"),
        (("rechnung", "rechnungen"), "rechnung"),
        (("hauser", "hausern"), "haus"),
        (("nuevo", "nueva", "nuevos", "nuevas"), "nuev"),
        (("fattura", "fatture"), "fattur"),
        (("serveur", "serveurs"), "serveur"),
    ],
)
def test_forms_of_a_word_share_a_stem(words: tuple[str, ...], stem: str) -> None:
    stemmer = snowball_stem()

    assert {stemmer(word) for word in words} == {stem}


@for_each("word", ["user", "data", "here", "api", "code", "auth", "main", "cafe"])
def test_short_words_keep_what_tells_them_apart(word: str) -> None:
    stemmer = snowball_stem()

    assert len(stemmer(word)) >= 3
    assert stemmer(word) == stemmer(f"{word}s")


@for_each("word", ["δρόμος", "किताबें", "الكتاب", "Գիրք", "புத்தகம்", "שלום", "𐍈", "x" * 64])
def test_words_of_every_script_give_a_stem_that_is_not_empty(word: str) -> None:
    assert snowball_stem()(word)


def test_the_stemmer_gives_the_same_answers_to_many_threads() -> None:
    words = [f"{start}{middle}ing" for start in ("run", "walk", "sett", "büch") for middle in map(str, range(500))]
    alone = snowball_stem()
    shared = snowball_stem()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(shared, words))

    assert answers == [alone(word) for word in words]


def test_a_question_and_a_statement_in_other_forms_of_its_words_share_lexemes() -> None:
    analyzer = Analyzer(stem=snowball_stem())

    assert set(analyzer.query_lexemes("When are we launching the rockets?")) <= set(
        analyzer.analyze("The rocket launch moved")
    )
