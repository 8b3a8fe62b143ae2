"""The runtime of a home: shared by its agents, let go with the last of them, and never carried over a fork."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, eventually

from hermes_memory.adapters.notebook_files import NotebookFiles
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.bootstrap.opening import open_memory
from hermes_memory.domain.errors import ConfigurationError, DeadlineExceeded, StoreUnavailable
from hermes_memory.domain.model import HomeId, Origin, Target
from hermes_memory.domain.secret_lines import SPANNING, context
from hermes_memory.domain.secret_shapes import CONTEXTS
from hermes_memory.hermes.runtime import Handle, Runtime, acquire, release
from hermes_memory.settings import Settings
from hermes_memory.testing.making import DESK

NOWHERE = "postgresql://nobody@127.0.0.1:1/nowhere"
AWAY = StoreUnavailable("the database is away")

Take = Callable[..., Handle]


@pytest.fixture
def take(home: Path) -> Iterator[Take]:
    """Takes shares of runtimes whose database is away; all are given back, and no thread may be left then."""
    before = set(threading.enumerate())
    taken: list[Handle] = []

    def share(**changes: Any) -> Handle:
        settings = Settings(**{"home": home, "dsn": NOWHERE, "embedder": "none", "spool_sync": "NORMAL", **changes})
        taken.append(acquire(settings, lambda _: None))
        return taken[-1]

    yield share
    for handle in taken:
        release(handle)
    eventually(lambda: set(threading.enumerate()) <= before)


def test_the_agents_of_a_home_share_one_runtime_and_one_thread(take: Take) -> None:
    handles = [take() for _ in range(5)]

    assert len({id(handle.runtime) for handle in handles}) == 1
    assert handles[0].runtime.loop.alive


@pytest.mark.parametrize(
    "change",
    [
        {"pool_size": 5},
        {"dsn": "postgresql://nobody:other@127.0.0.1:1/nowhere"},
        {"subject_secret": "k" * 48},
        {"subject_secret": "l" * 48},
    ],
    ids=["setting", "password", "secret", "another secret"],
)
def test_other_settings_and_other_secrets_have_a_runtime_of_their_own(take: Take, change: dict[str, Any]) -> None:
    one = take(dsn="postgresql://nobody:first@127.0.0.1:1/nowhere", subject_secret="m" * 48)
    other = take(**{"dsn": "postgresql://nobody:first@127.0.0.1:1/nowhere", "subject_secret": "m" * 48, **change})

    assert one.runtime is not other.runtime


def test_another_home_has_a_runtime_of_its_own(take: Take, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    assert take().runtime is not take(home=other).runtime


def test_the_runtime_ends_with_the_last_share_and_not_before(take: Take) -> None:
    first, second = take(), take()
    release(first)
    release(first)  # a share is given back once, however often that is said
    alive = second.runtime.loop.alive
    release(second)

    assert alive
    assert not second.runtime.loop.alive


def test_after_the_end_the_next_agent_has_a_new_runtime(take: Take) -> None:
    first = take()
    release(first)
    second = take()

    assert second.runtime is not first.runtime
    assert second.runtime.loop.alive


def test_a_runtime_whose_thread_died_is_replaced_and_old_shares_end_nothing(take: Take) -> None:
    first = take()
    first.runtime.loop.stop(timeout=GUARD)
    second = take()
    release(first)
    first.runtime.local.spool.close()  # which its agents could still write to

    assert second.runtime is not first.runtime
    assert second.runtime.loop.alive


def test_who_is_there_when_a_thread_dies_is_there_with_the_next_runtime_that_can_be_made_and_leaves_with_it(
    take: Take, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ConfigurationError("the disk is full")

    (home / "memories").mkdir(exist_ok=True)
    notebook, lines = home / "memories" / "USER.md", NotebookFiles(home, identity=HomeId("home"))
    first = take()
    first.runtime.local.mirror.subject_comes()
    first.runtime.loop.stop(timeout=GUARD)
    with monkeypatch.context() as full:
        full.setattr("hermes_memory.hermes.runtime.open_local_half", refused)
        with pytest.raises(ConfigurationError, match="full"):
            take()
    second = take()
    notebook.write_text("my PIN is 4711", encoding="utf-8")
    meanwhile = lines.standing().shared
    release(second, timeout=1)
    lines.standing()
    notebook.write_text("prefers tea", encoding="utf-8")
    first.runtime.local.spool.close()

    assert meanwhile == frozenset()
    assert lines.standing().shared == {"prefers tea"}


def test_a_process_that_ends_in_order_says_that_nobody_is_there_though_a_share_was_never_given_back(
    home: Path,
) -> None:
    visit = """
        import pathlib, sys
        from hermes_memory.hermes.runtime import acquire, release
        from hermes_memory.settings import Settings

        settings = Settings(home=pathlib.Path(sys.argv[1]), dsn=sys.argv[2], embedder="none", spool_sync="NORMAL")
        dropped, ended = (acquire(settings, lambda _: None) for _ in range(2))
        dropped.runtime.local.mirror.subject_comes()
        release(ended, timeout=1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(visit), str(home), NOWHERE], check=True, timeout=GUARD)
    (home / "memories").mkdir(exist_ok=True)
    (home / "memories" / "USER.md").write_text("prefers tea", encoding="utf-8")

    assert NotebookFiles(home, identity=HomeId("home")).standing().shared == {"prefers tea"}


def test_agents_that_start_at_once_share_one_runtime(take: Take) -> None:
    start, handles = threading.Barrier(8), list[Handle]()

    def begin() -> None:
        start.wait(GUARD)
        handles.append(take())

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)
    shared = {id(handle.runtime) for handle in handles}
    for handle in handles[1:]:
        release(handle)

    assert len(shared) == 1
    assert handles[0].runtime.loop.alive


def test_a_home_that_cannot_be_used_is_told_and_leaves_nothing_behind(take: Take) -> None:
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="too short"):
            take(subject_secret="short")
    assert take().runtime.loop.alive


def test_nothing_keeps_a_runtime_that_nobody_shares(take: Take) -> None:

    handle = take()
    reference = weakref.ref(handle.runtime)
    thread = handle.runtime.loop
    release(handle)
    assert thread.stop(timeout=GUARD)
    handle.runtime = None  # type: ignore[assignment]
    del thread
    gc.collect()

    assert reference() is None


def test_a_runtime_that_nobody_shares_any_more_closes_its_spool(take: Take, home: Path) -> None:
    handle = take()
    handle.runtime.local.spool.status()
    before = _open_files(home)
    release(handle)
    assert handle.runtime.loop.stop(timeout=GUARD)

    assert any("spool" in name for name in before)
    assert not any("spool" in name for name in _open_files(home))


def _open_files(home: Path) -> set[str]:
    """Return the files under a folder that this process has open."""
    names = set()
    for link in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(FileNotFoundError):  # another thread has closed it meanwhile
            names.add(str(link.readlink()))
    return {name for name in names if name.startswith(str(home))}


@pytest.fixture
def runtime(home: Path) -> Iterator[InProcessRuntime]:
    runtime = InProcessRuntime(home)
    yield runtime
    runtime.close(timeout=GUARD)


def end(runtime: InProcessRuntime) -> None:
    """Let a runtime that was not opened end after all."""
    runtime.may_open.set()
    assert runtime.loop.stop(timeout=GUARD)
    runtime.local.spool.close()


def remember(runtime: InProcessRuntime, content: str) -> None:
    runtime.local.acceptor.add(DESK, content, target=Target.MEMORY, origin=Origin.USER)


def test_what_is_accepted_on_any_thread_is_delivered_without_delay(runtime: InProcessRuntime) -> None:
    eventually(lambda: runtime.loop.memory)
    remember(runtime, "Launch on 3 May")
    eventually(lambda: runtime.parts.delivery.applied)

    assert runtime.parts.delivery.applied == ["Launch on 3 May"]


def test_patterns_are_compiled_where_the_memory_is_opened_and_not_where_a_turn_is_accepted(
    runtime: InProcessRuntime,
) -> None:
    shapes = [*CONTEXTS, *SPANNING]
    for shape in shapes:
        vars(shape).pop("pattern", None)
    Runtime._opening(runtime)

    assert all("pattern" in vars(shape) for shape in shapes)
    assert "pattern" not in vars(context("secret", "a b", "a|b"))


def test_closing_delivers_what_waits_and_ends_the_thread(home: Path) -> None:
    runtime = InProcessRuntime(home)
    eventually(lambda: runtime.loop.memory)
    for number in range(20):
        remember(runtime, f"note {number}")
    runtime.close(timeout=GUARD)

    assert len(runtime.parts.delivery.applied) == 20
    assert not runtime.loop.alive


def test_closing_does_not_wait_for_a_database_that_is_away_and_keeps_what_waits(home: Path) -> None:
    runtime = InProcessRuntime(home)
    eventually(lambda: runtime.loop.memory)
    runtime.parts.delivery.applying.standing = AWAY
    runtime.parts.store_breaker._jitter = lambda _: 3_600.0
    remember(runtime, "Launch on 3 May")
    eventually(lambda: not runtime.parts.store_breaker.allows())
    started = time.monotonic()
    runtime.close(timeout=GUARD)
    waited = time.monotonic() - started
    later = InProcessRuntime(home)
    later.settle()
    later.close(timeout=GUARD)

    assert waited < GUARD / 2  # a patient delivery would be given more than that
    assert later.parts.delivery.applied == ["Launch on 3 May"]


def test_closing_is_bounded_when_the_database_hangs(home: Path) -> None:
    runtime = InProcessRuntime(home)
    eventually(lambda: runtime.loop.memory)
    runtime.parts.delivery.applying.hangs = True
    remember(runtime, "Launch on 3 May")
    started = time.monotonic()
    runtime.close(timeout=0.1)

    assert time.monotonic() - started < GUARD
    assert runtime.loop.stop(timeout=GUARD)


def test_closing_is_bounded_when_the_spool_cannot_be_closed_in_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = InProcessRuntime(home)
    eventually(lambda: runtime.loop.memory)
    may_close, closed = threading.Event(), threading.Event()

    def close() -> None:
        assert may_close.wait(GUARD)
        closed.set()

    with monkeypatch.context() as patched:
        patched.setattr(runtime.local.spool, "close", close)
        runtime.close(timeout=0.2)
        closed_in_time = closed.is_set()
        may_close.set()
        eventually(closed.is_set)
    runtime.local.spool.close()

    assert not closed_in_time
    assert runtime.loop.stop(timeout=GUARD)


async def test_a_memory_closes_its_spool_beside_the_event_loop_also_when_it_is_cancelled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, close = list[int](), SqliteSpool.close

    def noted(spool: SqliteSpool) -> None:
        close(spool)
        threads.append(threading.get_ident())

    monkeypatch.setattr(SqliteSpool, "close", noted)
    settings = Settings(home=home, dsn=NOWHERE, embedder="none", spool_sync="NORMAL")
    async with open_memory(settings, wait=0):
        pass
    with anyio.CancelScope() as scope:
        async with open_memory(settings, wait=0):
            scope.cancel()
            await anyio.sleep(GUARD)

    assert len(threads) == 2
    assert threading.get_ident() not in threads


def test_closing_before_the_memory_is_open_is_quick_and_loses_nothing(home: Path) -> None:
    runtime = InProcessRuntime(home, opens=False)
    remember(runtime, "Launch on 3 May")
    runtime.close(timeout=0.05)
    waiting = runtime.local.spool.pending_before()
    end(runtime)

    assert waiting == 1


def test_writes_are_accepted_while_the_memory_is_still_being_opened(home: Path) -> None:
    runtime = InProcessRuntime(home, opens=False)
    remember(runtime, "Launch on 3 May")
    with pytest.raises(DeadlineExceeded):
        runtime.call(lambda memory: memory.settled(timeout=GUARD), timeout=0.02)
    runtime.abandon()
    waiting = runtime.local.spool.pending_before()
    end(runtime)

    assert waiting == 1


FORK = """
    import logging, os, sys, threading, time, warnings
    from pathlib import Path
    # A fork amid a line that another thread writes to stderr leaves the child with Python's lock on it, held for ever.
    logging.disable()
    from hermes_memory.hermes.runtime import acquire, release
    from hermes_memory.domain.model import Origin, Target
    from hermes_memory.settings import Settings
    from hermes_memory.testing.making import DESK

    warnings.simplefilter("ignore")
    settings = Settings(home=Path(sys.argv[1]), dsn="postgresql://nobody@127.0.0.1:1/nowhere", embedder="none")
    parent = acquire(settings, lambda _: None)
    parent.runtime.local.acceptor.add(DESK, "of the parent", target=Target.MEMORY, origin=Origin.USER)
    child = os.fork()
    if child == 0:
        problems = []
        if parent.runtime.loop.alive:
            problems.append("the parent's thread seems to run")
        parent.runtime.local.acceptor.add(DESK, "of the old half", target=Target.MEMORY, origin=Origin.USER)
        own = acquire(settings, lambda _: None)
        if own.runtime is parent.runtime or not own.runtime.loop.alive:
            problems.append("no runtime of its own")
        own.runtime.local.acceptor.add(DESK, "of the child", target=Target.MEMORY, origin=Origin.USER)
        own.runtime.call(lambda memory: memory.status(), timeout=60)
        release(parent)
        if not own.runtime.loop.alive:
            problems.append("the parent's share ended the child's runtime")
        release(own, timeout=0.2)
        print(problems, flush=True)
        os._exit(len(problems))
    _, status = os.waitpid(child, 0)
    print(parent.runtime.loop.alive, parent.runtime.local.spool.pending_before(), os.waitstatus_to_exitcode(status))
    release(parent, timeout=0.2)
    deadline = time.monotonic() + 60
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    print(threading.active_count(), flush=True)
"""


def test_a_forked_process_has_a_runtime_of_its_own_and_leaves_the_parents_alone(home: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORK), str(home)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert ended.stdout.splitlines() == ["[]", "True 3 0", "1"], ended.stderr
