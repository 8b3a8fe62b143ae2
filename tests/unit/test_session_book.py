"""Bindings of sessions: each keeps its own identity, and the newest ones are kept."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.support.inprocess import GUARD

from hermes_memory.domain.model import Caller, SessionId, Subject, Theme
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.hermes import sessions
from hermes_memory.hermes.sessions import Binding, SessionBook
from hermes_memory.testing.making import ANA, BEN

BEFORE = datetime(2026, 5, 3, tzinfo=UTC)


def of(theme: str, subject: Subject | None = None) -> Binding:
    caller = Caller(theme=Theme(theme), subject=subject)
    return Binding(caller=caller, files_caller=caller, writes=True, speaker="Ana", visible_since=BEFORE)


@pytest.fixture
def book() -> SessionBook:
    return SessionBook()


def found(book: SessionBook, session: object = None) -> Binding:
    binding = book.find(session)
    assert binding is not None
    return binding


def test_without_any_session_there_is_no_binding(book: SessionBook) -> None:
    book.switch("s2", parent="s1", fresh=True)
    book.window_begins_anew()

    assert book.current == ""
    assert (book.find(), book.find("s1"), book.find("")) == (None, None, None)


def test_a_bound_session_is_the_current_one_and_speaks_in_itself(book: SessionBook) -> None:
    book.bind("s1", of("coder"))

    assert book.current == "s1"
    assert found(book) == found(book, "s1") == found(book, "")
    assert found(book).caller == Caller(theme=Theme("coder"), session=SessionId("s1"))
    assert found(book).files_caller == Caller(theme=Theme("coder"))


def test_each_session_keeps_its_own_identity_whichever_is_current(book: SessionBook) -> None:
    book.bind("s1", of("coder", BEN))
    book.bind("s2", of("writer"))

    assert found(book, "s1").caller == Caller(theme=Theme("coder"), subject=BEN, session=SessionId("s1"))
    assert found(book, "s2").caller == found(book).caller == Caller(theme=Theme("writer"), session=SessionId("s2"))


def test_a_session_that_is_bound_again_has_the_new_identity(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.bind("s1", of("writer"))

    assert found(book, "s1").caller.theme == "writer"


def test_a_session_that_nobody_bound_speaks_with_the_only_identity_and_is_not_kept(book: SessionBook) -> None:
    book.bind("s1", of("coder", ANA))
    book.bind("s2", of("coder", ANA))

    assert found(book, "s9").caller == Caller(theme=Theme("coder"), subject=ANA, session=SessionId("s9"))
    assert book.current == "s2"


@pytest.mark.parametrize("other", [of("coder", BEN), of("coder"), of("writer", ANA)])
def test_a_session_that_nobody_bound_is_nobodys_once_there_were_two_identities(
    book: SessionBook, other: Binding, caplog: pytest.LogCaptureFixture
) -> None:
    book.bind("s1", of("coder", ANA))
    book.bind("s2", other)
    book.bind("s1", of("coder", ANA))

    assert [book.find(unknown) for unknown in ("s8", "s9")] == [None, None]
    assert found(book) == found(book, "s1")
    assert [record.message for record in caplog.records] == [
        "the host names a session without having said whose it is: it reads and writes nothing"
    ]


def test_a_session_that_nobody_bound_is_nobodys_once_somebody_could_not_be_told(book: SessionBook) -> None:
    book.leave("s1")
    book.bind("s2", of("coder", ANA))

    assert (book.find("s1"), book.find("s9")) == (None, None)
    assert found(book).caller.subject == ANA


def test_a_session_that_nobody_bound_is_the_only_identitys_again_once_the_one_that_failed_is_bound(
    book: SessionBook,
) -> None:
    book.bind("s1", of("coder", ANA))
    book.leave("s1")
    meanwhile = book.find("s2")
    book.bind("s1", of("coder", ANA))

    assert meanwhile is None
    assert found(book, "s2").caller.subject == ANA


def test_a_session_that_could_not_be_told_is_still_nobodys_after_a_switch_to_it(book: SessionBook) -> None:
    book.leave("s1")
    book.bind("s2", of("coder", ANA))
    book.switch("s1", parent="s2", fresh=False)

    assert book.find("s9") is None


def test_sessions_that_could_not_be_told_are_remembered_up_to_a_bound(
    book: SessionBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_KEPT", 3)
    for number in range(9):
        book.leave(f"s{number}")
    for number in range(9):
        book.bind(f"s{number}", of("coder", ANA))

    assert book.find("s9") is None
    assert not book._untold


@pytest.mark.parametrize("name", [7, " s1\0 ", "x" * 5_000])
def test_a_session_is_found_by_whatever_the_host_gives(book: SessionBook, name: object) -> None:
    book.bind(name, of("coder"))

    assert found(book, name).caller.session == book.current
    assert found(book).caller == found(book, name).caller


def test_a_session_without_a_name_has_an_identity_and_no_session(book: SessionBook) -> None:
    book.bind("", of("coder"))

    assert found(book).caller == Caller(theme=Theme("coder"))


def test_a_switch_goes_on_under_the_same_identity_with_the_parent_it_was_told(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.switch("s2", parent="s1", fresh=False)

    assert book.current == "s2"
    assert found(book).caller == Caller(theme=Theme("coder"), session=SessionId("s2"))
    assert (found(book).parent, found(book).speaker, found(book).visible_since) == ("s1", "Ana", BEFORE)
    assert found(book, "s1").parent is None


def test_a_fresh_window_begins_now_and_only_there(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    start = datetime.now(UTC)
    book.switch("s2", parent="s1", fresh=True)

    assert start <= found(book, "s2").visible_since <= datetime.now(UTC)
    assert found(book, "s1").visible_since == BEFORE


def test_a_switch_back_finds_the_session_as_it_was(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.bind("s2", of("writer"))
    book.switch("s1", parent="s2", fresh=False)

    assert found(book).caller == Caller(theme=Theme("coder"), session=SessionId("s1"))
    assert found(book).parent is None


def test_a_session_is_never_its_own_parent(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.switch("s1", parent="s1", fresh=True)
    book.switch("s2", parent="s2", fresh=True)

    assert (found(book, "s1").parent, found(book, "s2").parent) == (None, None)


def test_a_switch_to_nowhere_changes_nothing(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.switch("  ", parent="s1", fresh=True)

    assert book.current == "s1"
    assert found(book).visible_since == BEFORE


def test_the_window_of_the_current_session_begins_anew_alone(book: SessionBook) -> None:
    book.bind("s1", of("coder"))
    book.bind("s2", of("writer"))
    start = datetime.now(UTC)
    book.window_begins_anew()

    assert found(book).visible_since >= start
    assert found(book).caller == Caller(theme=Theme("writer"), session=SessionId("s2"))
    assert found(book, "s1").visible_since == BEFORE


def test_the_oldest_sessions_are_let_go_and_speak_as_nobody_else(
    book: SessionBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_KEPT", 3)
    for number in range(3):
        book.bind(f"s{number}", of(f"theme-{number}"))
    book.switch("s0", parent="s2", fresh=False)  # used again, so that s1 is the oldest now
    book.bind("s3", of("theme-3"))

    assert [found(book, f"s{number}").caller.theme for number in (0, 2, 3)] == ["theme-0", "theme-2", "theme-3"]
    assert book.find("s1") is None


def test_a_switch_to_a_session_that_was_let_go_is_nobodys_until_it_is_bound(
    book: SessionBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_KEPT", 2)
    book.bind("with-ana", of("coder", ANA))
    for number in range(2):
        book.bind(f"with-ben-{number}", of("coder", BEN))
    book.switch("with-ben-2", parent="with-ben-1", fresh=True)
    new = found(book).caller
    book.switch("with-ana", parent="with-ben-2", fresh=False)
    resumed = book.find()
    book.bind("with-ana", of("coder", ANA))

    assert (new.subject, resumed) == (BEN, None)
    assert found(book, "with-ana").caller.subject == ANA


def test_a_switch_goes_on_as_the_parent_whichever_session_is_current(book: SessionBook) -> None:
    book.bind("with-ana", of("coder", ANA))
    book.bind("with-ben", of("coder", BEN))
    book.switch("after-ana", parent="with-ana", fresh=True)
    book.switch("after-ben", parent="with-ben", fresh=True)

    assert found(book, "after-ana").caller.subject == ANA
    assert found(book, "after-ben").caller.subject == found(book).caller.subject == BEN


def test_a_switch_from_a_session_of_which_nobody_knows_whose_it_is_is_nobodys_and_is_said(
    book: SessionBook, caplog: pytest.LogCaptureFixture
) -> None:
    book.bind("with-ana", of("coder", ANA))
    book.bind("with-ben", of("coder", BEN))
    book.switch("after-cleo", parent="with-cleo", fresh=True)
    said = [record.message for record in caplog.records]

    assert said == ["the host names a session without having said whose it is: it reads and writes nothing"]
    assert (book.find(), book.find("after-cleo")) == (None, None)
    assert found(book, "with-ben").caller.subject == BEN


@pytest.mark.parametrize(("name", "parent"), [("with-ben", "after-cleo"), ("after-ben", "with-ben")])
def test_a_switch_from_nobodys_session_to_one_that_is_known_goes_on_as_that(
    book: SessionBook, name: str, parent: str
) -> None:
    book.bind("with-ana", of("coder", ANA))
    book.bind("with-ben", of("coder", BEN))
    book.switch("after-cleo", parent="with-cleo", fresh=True)
    book.switch(name, parent=parent, fresh=False)

    assert found(book).caller == Caller(theme=Theme("coder"), subject=BEN, session=SessionId(name))


def test_threads_that_switch_at_once_mix_up_no_identity(book: SessionBook) -> None:
    for number in range(8):
        book.bind(f"s{number}", of(f"theme-{number}"))
    start = threading.Barrier(8)

    def switch(number: int) -> None:
        start.wait(GUARD)
        for _ in range(200):
            book.bind(f"s{number}", of(f"theme-{number}"))
            book.window_begins_anew()
            book.switch(f"s{number}", parent="", fresh=True)

    threads = [threading.Thread(target=switch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)

    for number in range(8):
        assert found(book, f"s{number}").caller == Caller(
            theme=Theme(f"theme-{number}"), session=SessionId(f"s{number}")
        )


def test_what_is_kept_of_a_session_has_the_name_that_its_binding_gives_it(book: SessionBook) -> None:
    names = SessionNames(secret=b"a secret of the installation")
    told, other = "telegram:dm:+4915112345678", "telegram:dm:+4915187654321"
    book.bind(told, replace(of("coder", BEN), named=names))
    bound, spoken = found(book, told), found(book, "sms:+15550100")
    book.switch(other, parent=told, fresh=True)
    gone_on = found(book)

    assert bound == found(book, told)
    assert [b.caller.session for b in (bound, spoken, gone_on)] == [names(told), names("sms:+15550100"), names(other)]
    assert gone_on.parent == names(told)
