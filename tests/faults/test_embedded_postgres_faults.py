"""The embedded Postgres on its bad days: killed servers, killed clients, stale files, forks, and waits without end."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from hermes_memory.adapters.embedded_postgres import server as server_module
from hermes_memory.adapters.embedded_postgres.account import choose_account
from hermes_memory.adapters.embedded_postgres.filelock import FileLock
from hermes_memory.adapters.embedded_postgres.layout import start_lock_path
from hermes_memory.domain.errors import StoreUnavailable
from tests.support import clusters
from tests.support.embedded import Client, leader_below, postgres_below, query, supervisor

cluster, root = clusters.cluster, clusters.root


@pytest.fixture
def foreigner() -> Iterator[int]:
    """The id of a living process that has nothing to do with Postgres, but the account that would run it."""
    account = choose_account()
    with subprocess.Popen(["sleep", "600"], user=account.uid if account.switches else None) as process:
        yield process.pid
        process.kill()


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


# -- stale files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("{pid}\n{data}\n1700000000\n5432\n{run}\n\n  123456   7\nready   \n", id="container-restarted"),
        pytest.param("{pid}\n", id="cut-after-the-number"),
        pytest.param("", id="empty"),
        pytest.param("12", id="cut-in-the-number"),
        pytest.param("not a number\n\n\n", id="garbage"),
        pytest.param("\x00" * 64, id="zeros-of-a-power-cut"),
        pytest.param("-1\n", id="everybody"),
    ],
)
def test_a_stale_pid_file_never_blocks_and_never_hurts_who_has_the_number_now(
    root: Path, foreigner: int, content: str
) -> None:
    data = root / "postgres" / "pgdata"
    stale = content.format(pid=foreigner, data=data, run=root / "postgres" / "run")
    (data / "postmaster.pid").write_text(stale)
    postgres = supervisor(root)
    postgres.acquire()

    assert len({leader_below(root)}) == 1
    postgres.release()
    assert postgres_below(root) == []
    assert _runs(foreigner)


def test_leftover_sockets_and_their_locks_do_not_block(root: Path, foreigner: int) -> None:
    postgres = supervisor(root)
    address = postgres.acquire()
    kill(leader_below(root))
    wait_until(lambda: not postgres_below(root))
    Path(f"{address.socket_path}.lock").write_text(
        f"{foreigner}\n{root}\n1700000000\n5432\n{address.socket_directory}\n"
    )

    assert address.socket_path.exists()
    assert postgres.ensure_running() == address
    postgres.release()
    assert _runs(foreigner)


def test_a_record_of_the_address_that_makes_no_sense_does_not_block(root: Path) -> None:
    for text in ("", "[]", "{", '{"socket_directory": 5}', '{"socket_directory": "/nowhere", "port": "x"}'):
        (root / "postgres" / "server.json").write_text(text)
        postgres = supervisor(root)
        postgres.acquire()
        postgres.release()

        assert postgres_below(root) == []


def test_a_cluster_whose_creator_was_killed_is_created_anew(root: Path) -> None:
    with Client(root / "fresh") as client:
        wait_until(lambda: list((root / "fresh").glob("pgdata.new.*/global")))
        client.kill()
    assert not (root / "fresh" / "pgdata").exists()
    postgres = supervisor(root, "fresh")
    postgres.acquire()

    assert leader_below(root)
    postgres.release()
    wait_until(lambda: not _initdb_runs(root))
    postgres.acquire()  # whatever the orphaned creation wrote after its death is swept now
    assert list((root / "fresh").glob("pgdata.new.*")) == []
    postgres.release()


def _initdb_runs(root: Path) -> bool:
    return any(b"initdb" in title and bytes(root) in title for title in _titles())


def _titles() -> Iterator[bytes]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            if entry.name.isdigit():
                yield (entry / "cmdline").read_bytes()


# -- killed servers ---------------------------------------------------------------------------------------------------


async def test_no_committed_row_is_lost_when_the_server_is_killed_again_and_again(root: Path) -> None:
    postgres = supervisor(root)
    await query(postgres.acquire().dsn(), "CREATE TABLE kept (n int)", "SELECT 1")
    for number in range(3):
        dsn = postgres.ensure_running().dsn()
        await query(dsn, f"INSERT INTO kept SELECT {number} FROM generate_series(1, 100)", "SELECT 1")
        kill(leader_below(root))

    assert await query(postgres.ensure_running().dsn(), "SELECT count(*) FROM kept") == 300
    postgres.release()
    assert postgres_below(root) == []


async def test_processes_that_outlive_a_killed_server_are_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "GRACE_SECONDS", 0.3)
    postgres = supervisor(root)
    dsn = postgres.acquire().dsn()
    busy = asyncio.create_task(
        query(dsn, "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 9) b")
    )
    await asyncio.to_thread(wait_until, lambda: _backends(root))
    await asyncio.sleep(0.3)
    kill(leader_below(root))
    assert postgres_below(root)

    assert await query((await asyncio.to_thread(postgres.ensure_running)).dsn(), "SELECT 1") == 1
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await busy
    postgres.release()
    assert postgres_below(root) == []


def _backends(root: Path) -> list[int]:
    titles = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in postgres_below(root)}
    return [pid for pid, title in titles.items() if b"postgres postgres [local] SELECT" in title]


def test_a_server_whose_socket_was_swept_away_is_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "LEADER_GRACE_SECONDS", 0.3)
    postgres = supervisor(root)
    address = postgres.acquire()
    lost = leader_below(root)
    shutil.rmtree(address.socket_directory)

    assert postgres.ensure_running() == address
    assert leader_below(root) != lost
    postgres.release()
    assert postgres_below(root) == []


def test_a_server_that_hangs_costs_a_bounded_wait_and_is_not_replaced(root: Path) -> None:
    postgres = supervisor(root)
    postgres.acquire()
    leader = leader_below(root)
    os.kill(leader, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable):
            supervisor(root, start_timeout=0.5).acquire()
        assert leader_below(root) == leader
    finally:
        os.kill(leader, signal.SIGCONT)
    postgres.release()
    assert postgres_below(root) == []


async def test_a_server_started_by_hand_is_joined(root: Path) -> None:
    postgres = supervisor(root)
    dsn = postgres.acquire().dsn()
    programs = Path(f"/proc/{leader_below(root)}/exe").resolve().parent  # a copy, where the installed ones are private
    postgres.release()
    (root / "postgres" / "run").chmod(0o700)
    record = f'{{"socket_directory": "{root / "postgres" / "run"}", "port": 5432}}'
    (root / "postgres" / "server.json").write_text(record)
    data = root / "postgres" / "pgdata"
    owner = data.stat() if os.geteuid() == 0 else None
    starter = [str(programs / "pg_ctl"), "start", "-w", "-s", "-D", str(data), "-l", "/dev/null"]
    subprocess.run(
        starter, check=True, user=owner.st_uid if owner else None, group=owner.st_gid if owner else None, timeout=60
    )
    by_hand = leader_below(root)

    assert postgres.acquire().dsn() == dsn
    assert leader_below(root) == by_hand
    postgres.release()
    assert postgres_below(root) == []


def test_the_server_of_a_deleted_home_is_not_mistaken_for_that_of_its_successor(root: Path) -> None:
    directory = root / ("x" * 110)  # too long, so the sockets of both homes lie outside of them
    shutil.copytree(root / "postgres", directory / "postgres")
    old = supervisor(directory)
    old_address = old.acquire()
    orphan = leader_below(root)
    shutil.rmtree(directory)
    shutil.copytree(root / "postgres", directory / "postgres")
    new = supervisor(directory)
    try:
        assert new.acquire() != old_address
        new.release()
        assert _runs(orphan)
    finally:
        kill(orphan)
        old.release()
        old_address.socket_path.unlink(missing_ok=True)
        Path(f"{old_address.socket_path}.lock").unlink(missing_ok=True)
        old_address.socket_directory.rmdir()


# -- killed and forked clients ----------------------------------------------------------------------------------------


def test_a_killed_client_is_not_counted(root: Path) -> None:
    with Client(root / "postgres") as killed, Client(root / "postgres") as last:
        assert killed.reply() == last.reply()
        killed.kill()

        assert postgres_below(root)
        assert last.ask("release") == {"released": True}
        assert postgres_below(root) == []


def test_the_server_of_a_last_client_that_was_killed_is_joined_and_stopped_by_the_next(root: Path) -> None:
    with Client(root / "postgres") as killed:
        killed.reply()
        leader = leader_below(root)
        killed.kill()
    postgres = supervisor(root)
    postgres.acquire()

    assert leader_below(root) == leader
    postgres.release()
    assert postgres_below(root) == []


def test_a_client_that_was_killed_while_starting_the_server_does_not_block_the_next(root: Path) -> None:
    for moment in ("start.lock", "users.lock", "server.json", "pgdata/postmaster.pid"):
        shutil.rmtree(root / "copy", ignore_errors=True)
        shutil.copytree(root / "postgres", root / "copy", ignore=shutil.ignore_patterns("*.lock", "run"))
        (root / "copy" / "start.lock").touch()
        with Client(root / "copy") as client:
            wait_until((root / "copy" / moment).exists)
            client.kill()
        postgres = supervisor(root, "copy")
        postgres.acquire()
        leader_below(root)
        postgres.release()

        assert postgres_below(root) == []


def test_interrupting_the_clients_terminal_leaves_the_server_to_the_others(root: Path) -> None:
    with Client(root / "postgres") as starter, Client(root / "postgres") as other:
        starter.reply()
        other.reply()
        leader = leader_below(root)
        starter.kill(signal.SIGINT)

        assert leader_below(root) == leader
        assert other.ask("release") == {"released": True}
        assert postgres_below(root) == []


def test_a_forked_child_neither_releases_for_its_parent_nor_keeps_a_killed_parent_counted(root: Path) -> None:
    with Client(root / "postgres") as parent:
        parent.reply()
        leader = leader_below(root)
        child = parent.ask("fork")["child"]
        assert leader_below(root) == leader  # the child has called release
        os.kill(parent.process.pid, signal.SIGKILL)
        parent.process.wait(timeout=30)
        assert _runs(child)
        with Client(root / "postgres") as last:
            last.reply()

            assert last.ask("release") == {"released": True}
            assert postgres_below(root) == []
        kill(child)


def test_a_forked_child_can_become_a_user_of_its_own(root: Path) -> None:
    postgres = supervisor(root)
    postgres.acquire()
    child = os.fork()
    if child == 0:
        refused = False
        try:
            postgres.ensure_running()
        except StoreUnavailable:
            refused = True
        postgres.acquire()
        postgres.release()
        os._exit(0 if refused else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert postgres_below(root)
    postgres.release()
    assert postgres_below(root) == []


def test_a_forked_child_does_not_keep_the_locks_its_parent_held_at_the_fork(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "some.lock")
    assert lock.try_exclusive()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    lock.abandon()  # what the kernel does when the parent is killed

    wait_until(lambda: _is_free(tmp_path / "some.lock"))
    assert _runs(child)
    os.close(writer)
    os.waitpid(child, 0)


def _is_free(path: Path) -> bool:
    with FileLock(path) as lock:
        return lock.try_exclusive()


# -- waits ------------------------------------------------------------------------------------------------------------


def test_a_start_lock_that_is_never_given_up_costs_a_bounded_wait(root: Path) -> None:
    hasty = supervisor(root, start_timeout=0.3)
    with FileLock(start_lock_path(root / "postgres")) as other:
        assert other.try_exclusive()

        with pytest.raises(StoreUnavailable, match="another process"):
            hasty.acquire()
    patient = supervisor(root)
    patient.acquire()
    patient.release()
    assert postgres_below(root) == []


def test_releasing_calls_off_an_acquire_that_waits_in_another_thread(root: Path) -> None:
    postgres = supervisor(root)
    errors: list[BaseException] = []

    def acquire() -> None:
        try:
            postgres.acquire()
        except StoreUnavailable as error:
            errors.append(error)

    with FileLock(start_lock_path(root / "postgres")) as other:
        assert other.try_exclusive()
        thread = threading.Thread(target=acquire)
        thread.start()
        wait_until(lambda: postgres._involved)
        release = threading.Thread(target=postgres.release)
        release.start()
        thread.join(timeout=90)
    release.join(timeout=90)

    assert ["released while" in str(error) for error in errors] == [True]
    assert postgres_below(root) == []


def test_the_end_of_the_directory_does_not_fail_the_release(root: Path) -> None:
    postgres = supervisor(root)
    postgres.acquire()
    leader = leader_below(root)
    shutil.rmtree(root / "postgres")
    postgres.release()

    assert not (root / "postgres").exists()
    kill(leader)
