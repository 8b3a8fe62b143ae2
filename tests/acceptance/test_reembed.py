"""Changing the embedding model while agents work, as an operator does it: by the command, in a process of its own."""

from __future__ import annotations

import asyncio
import itertools
import json
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from aiohttp import web

from hermes_memory.adapters.embedding.local import LOCAL_MODEL, LocalEmbedder
from hermes_memory.adapters.inmemory.embedder import hashed_vector
from hermes_memory.application.health import Trouble
from hermes_memory.hermes.prompt import DEGRADED
from hermes_memory.settings import ENV_PREFIX
from tests.acceptance.conftest import NewAgent
from tests.support.agents import PATIENCE, Agent, eventually
from tests.support.command import COMMAND, Ran, in_process
from tests.support.embedding_server import Asked, EmbeddingServer, EmbeddingServerThread, shaped
from tests.support.inspection import rows, value
from tests.support.loaded_command import loaded_command
from tests.support.postgres import TestServer
from tests.support.postgres_store import PARTITIONS, Installation, migrated

DONE, ERROR, DOWN, WORK_REMAINS, USAGE, INTERRUPTED = 0, 1, 2, 3, 64, 130
OLD, NEW, WIDE = "old-model", "new-model", "wide-model"
DIMENSIONS: Final = {OLD: 64, NEW: 64, WIDE: 4_000}
STARVED: Final = "update hermes_memory.embedding_models set fed = false where generation = 2"
"""As a process leaves it that was interrupted while it dropped a generation."""
CUT_OFF: Final = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and application_name = 'hermes_memory operator'"""
FACTS: Final = [
    f"The {colour} {thing} is in room {n}"
    for n, (colour, thing) in enumerate(
        itertools.product(
            ("amber", "blue", "coral", "denim", "ecru", "fawn"),
            ("anvil", "basket", "candle", "drum", "easel", "flute", "globe", "harp", "inkwell", "jug"),
        )
    )
]


def vector_of(model: str, text: str) -> list[float]:
    """Return what a model makes of a text. The models agree in no number, and each tells texts apart by itself."""
    vector = hashed_vector(text, DIMENSIONS[model])
    return vector[::-1] if model == NEW else vector


class Models:
    """An endpoint that serves all three models, slowly if wanted, and notes what each was asked."""

    def __init__(self) -> None:
        self.server = EmbeddingServer(fault=self._answer)
        self.seconds = 0.0
        self.refuses: str | None = None
        self.dies_of: str | None = None
        self.dead = False

    async def _answer(self, server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        model = str(asked.body["model"])
        if model == NEW and self.seconds:
            await server.until_leaving(self.seconds)
        self.dead |= self.dies_of is not None and any(self.dies_of in text for text in asked.texts)
        if self.dead:
            return web.json_response({"error": "gone"}, status=503)
        if self.refuses is not None and any(self.refuses in text for text in asked.texts):
            return web.json_response({"error": "input refused"}, status=400)
        return web.json_response(shaped(asked.shape, [vector_of(model, text) for text in asked.texts]))

    def asked(self, model: str) -> Counter[str]:
        """Return which texts a model was asked to embed, and how often."""
        return Counter(
            text for request in list(self.server.requests) if request.body["model"] == model for text in request.texts
        )


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    served = Models()
    with EmbeddingServerThread(served.server):
        yield served
    assert served.server.requests


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def old_template(server: TestServer) -> AsyncIterator[Installation]:
    """A database for the vectors of the old model."""
    async with migrated(server, (OLD, DIMENSIONS[OLD]), part_tokens=256) as installation:
        yield installation


@pytest_asyncio.fixture
async def place(old_template: Installation) -> AsyncIterator[Installation]:
    async with old_template.copy() as copied:
        yield copied


@pytest.fixture
def fleet(place: Installation, models: Models, home: Path, configure: Callable[..., None]) -> Models:
    """A home whose agents use the old model, on the test's database."""
    models.seconds, models.refuses, models.dies_of, models.dead = 0.0, None, None, False
    models.server.requests.clear()
    configure(dsn=place.runtime_dsn, embedder="openai", embed_url=models.server.url, embed_batch=4, embed_parallel=2)
    configure(embed_model=OLD, embed_dim=DIMENSIONS[OLD], embed_api_key_env="")
    return models


def to(model: str, place: Installation, *more: str) -> list[str]:
    named = ("--model", model, "--dim", str(DIMENSIONS[model]))
    return ["reembed", "--admin-dsn", place.admin_dsn, *named, *more]


def reembed(place: Installation, *arguments: str) -> Ran:
    return loaded_command("reembed", "--admin-dsn", place.admin_dsn, *arguments)


def operator(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([str(COMMAND), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def here(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """Run the command in this process, which is quicker."""
    capsys.readouterr()
    code = in_process(*arguments)
    said = capsys.readouterr()
    return Ran(code=code, out=said.out, err=said.err)


def require(ran: Ran, code: int) -> Ran:
    assert ran.code == code, f"{ran.code}: {ran.out}{ran.err}"
    assert "Traceback" not in ran.out + ran.err
    return ran


def told(doctor: Any, check: str, level: str | None = None) -> list[str]:
    """Return what the doctor said of a matter."""
    return [
        finding["message"]
        for finding in doctor["findings"]
        if finding["check"] == check and level in {None, finding["level"]}
    ]


async def embedded(place: Installation, generation: int) -> int:
    """Return how many rows have a vector of a generation that may not be there yet."""
    there = await value(place.admin_dsn, f"select to_regclass('hermes_memory.turn_vectors_g{generation}') is not null")
    if not there:
        return 0
    found: int = await value(
        place.admin_dsn,
        f"select (select count(*) from hermes_memory.entry_vectors_g{generation} where part = 0)"
        f" + (select count(*) from hermes_memory.turn_vectors_g{generation} where part = 0)",
    )
    return found


async def entry_vectors(place: Installation, generation: int) -> dict[str, list[float]]:
    """Return the vectors of entries by content, those without a row under their id."""
    found = await rows(
        place.admin_dsn,
        "select coalesce(e.content, v.row_id::text), v.embedding::real[] from hermes_memory.entry_vectors_g"
        f"{generation} v left join hermes_memory.memory_entries e on e.id = v.row_id",
    )
    return dict(found)


def near(one: list[float], other: list[float]) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) < 2e-3


def remember(agent: Agent, facts: list[str]) -> None:
    for fact in facts:
        agent.provider.on_memory_write("add", "memory", fact)


def _erase(place: Installation, content: str) -> None:
    named = "select id from hermes_memory.memory_entries where content = $1"
    entry = asyncio.run(value(place.admin_dsn, named, content))
    assert in_process("erase", "--admin-dsn", place.admin_dsn, "--entry", str(entry), "--execute") == DONE


async def _part_of_it(place: Installation, process: subprocess.Popen[str], rows: int) -> None:
    """Wait until some rows have a vector of the second generation."""
    deadline = time.monotonic() + PATIENCE
    while await embedded(place, 2) < rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def test_another_model_takes_over_while_agents_work_and_operators_are_killed(
    fleet: Models, place: Installation, new_agent: NewAgent
) -> None:
    agent = new_agent().start()
    remember(agent, FACTS)
    agent.provider.sync_turn("Where is the amber anvil?", "The anvil is in room 0.", session_id="s1")
    agent.settle()

    # One that is interrupted, one that is killed, while what they have done and what they have not is changed.
    fleet.seconds = 0.4
    interrupted = operator(*to(NEW, place))
    asyncio.run(_part_of_it(place, interrupted, 4))
    interrupted.send_signal(signal.SIGINT)
    farewell = interrupted.communicate()[1]
    killed = operator(*to(NEW, place))
    asyncio.run(_part_of_it(place, killed, 12))
    agent.provider.on_memory_write("replace", "memory", "The jug is in the cellar", {"old_text": FACTS[-1]})
    agent.provider.on_memory_write("remove", "memory", "", {"old_text": FACTS[-2]})
    killed.kill()
    killed.communicate()
    before = asyncio.run(embedded(place, 2))

    # Two that go on with it together.
    fleet.server.requests.clear()
    fleet.seconds = 0.1
    both = [operator(*to(NEW, place, "--json")) for _ in range(2)]
    agent.provider.on_memory_write("replace", "memory", "The anvil is in the attic", {"old_text": FACTS[0]})
    agent.provider.on_memory_write("remove", "memory", "", {"old_text": FACTS[1]})
    _erase(place, FACTS[2])
    _erase(place, FACTS[-3])
    remember(agent, ["The lantern hangs in the hall", "The mirror is broken"])
    agent.provider.sync_turn("Is the mirror broken?", "It broke last night.", session_id="s1")
    ended = [(*each.communicate(timeout=200), each.returncode) for each in both]

    assert interrupted.returncode == INTERRUPTED
    assert "the same command goes on" in farewell
    assert 12 <= before < len(FACTS)
    assert [code for *_, code in ended] == [DONE, DONE], ended
    told = [json.loads(out) for out, *_ in ended]
    assert [each["standing"]["active"] for each in told] == [True, True]
    assert sorted(each["switched"] for each in told) == [False, True]
    assert "".join(err for _, err, _ in ended) == ""
    assert {text: n for text, n in fleet.asked(NEW).items() if n > 1 and text in FACTS} == {}
    kept = {*FACTS[3:-3], "The jug is in the cellar", "The anvil is in the attic"}
    kept |= {"The lantern hangs in the hall", "The mirror is broken"}
    eventually(lambda: len(agent.said("mirror")) > 0)
    assert in_process(*to(NEW, place)) == DONE
    assert in_process(*to(OLD, place, "--fill-only", "--part-tokens", "256")) == DONE
    for generation, model in ((1, OLD), (2, NEW)):
        found = asyncio.run(entry_vectors(place, generation))
        assert found.keys() == kept
        assert [text for text, vector in found.items() if not near(vector, vector_of(model, text))] == []
        assert asyncio.run(embedded(place, generation)) == len(kept) + 4
    assert asyncio.run(value(place.admin_dsn, "select active_generation from hermes_memory.installation")) == 2


def test_agents_of_the_old_model_say_so_until_they_are_restarted_or_it_is_switched_back(
    fleet: Models,
    place: Installation,
    new_agent: NewAgent,
    configure: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    search = ("search", "amber anvil", "--theme", "coder", "--json")
    agent = new_agent().start()
    remember(agent, FACTS[:6])
    agent.settle()
    degraded = DEGRADED[Trouble.EMBEDDER]

    filled = require(loaded_command(*to(NEW, place, "--fill-only", "--json")), DONE)
    beside = require(here(capsys, "doctor", "--json"), DONE).document
    switched = require(loaded_command(*to(NEW, place)), DONE)
    eventually(lambda: degraded in agent.provider.system_prompt_block())
    by_words = require(here(capsys, *search), DONE).document
    doctor = require(here(capsys, "doctor", "--json"), ERROR).document
    stats = require(here(capsys, "stats"), DONE)
    configure(embed_model=NEW)
    by_meaning = require(here(capsys, *search), DONE).document
    healthy = require(here(capsys, "doctor", "--json"), DONE).document
    back = require(reembed(place, "--switch-back", "--json"), DONE)
    eventually(lambda: degraded not in agent.provider.system_prompt_block())
    verb = ("reembed", "--admin-dsn", place.admin_dsn)
    shown = require(here(capsys, *verb, "--drop", "2"), WORK_REMAINS)
    still = asyncio.run(embedded(place, 2))
    refused = [require(here(capsys, *verb, "--drop", number), USAGE).err for number in ("1", "7")]
    asyncio.run(place.administer_all(STARVED))
    half_dropped = require(here(capsys, *verb, "--switch-back"), USAGE)
    dropped = require(reembed(place, "--drop", "2", "--execute", "--json"), DONE)
    nothing = require(here(capsys, *verb, "--switch-back"), USAGE)
    remember(agent, ["The lantern hangs in the hall"])
    agent.provider.on_memory_write("remove", "memory", "", {"old_text": FACTS[5]})
    agent.settle()

    assert (filled.document["switched"], filled.document["standing"]["active"]) == (False, False)
    assert [each for each in told(beside, "vectors") if "generation 2 (not used yet)" in each]
    assert "restart its agents" in switched.out
    assert by_words["hits"]
    assert by_words["degraded"]
    (mismatch,) = told(doctor, "vectors", "error")
    assert NEW in mismatch
    assert OLD in mismatch
    assert "hermes-memory reembed" in mismatch
    assert f"generation 2 (in use): {NEW}, 64 dimensions" in stats.out
    assert f"generation 1 (kept): {OLD}, 64 dimensions" in stats.out
    assert by_meaning["degraded"] == []
    assert by_meaning["hits"][0]["content"] == FACTS[0]
    assert told(healthy, "vectors", "error") == []
    assert (back.document["active"], back.document["former"]) == (1, 2)
    assert ("would drop generation 2" in shown.out, still) == (True, 6)
    assert ["in use" in refused[0], "no embedding generation 7" in refused[1]] == [True, True]
    assert dropped.document["dropped"] is True
    assert ["nothing to switch back to" in ran.err for ran in (half_dropped, nothing)] == [True, True]
    assert sorted(asyncio.run(entry_vectors(place, 1))) == sorted([*FACTS[:5], "The lantern hangs in the hall"])
    log = "select detail->>'act' from hermes_memory.memory_maintenance_log where verb = 'reembed' order by at"
    assert asyncio.run(rows(place.admin_dsn, log)) == [("switch",), ("switch",), ("drop",)]
    assert asyncio.run(embedded(place, 2)) == 0


@pytest.fixture
def loaded_weights() -> Iterator[None]:
    """Keeps the weights of the local model, which else every command of this process loads and lets go of."""
    holder = LocalEmbedder()
    asyncio.run(holder.warm_up(timeout=PATIENCE))
    yield
    asyncio.run(holder.aclose())


@pytest.mark.usefixtures("loaded_weights")
def test_the_command_that_is_printed_configures_the_model_in_use_from_own_to_endpoint_and_back(
    database: Installation,
    models: Models,
    home: Path,
    environment: pytest.MonkeyPatch,
    configure: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def follow(said: str) -> None:
        (line,) = [line for line in said.splitlines() if line.startswith("  hermes-memory setup")]
        in_process(*shlex.split(line)[1:], "--no-verify")

    def degraded() -> Any:
        return require(here(capsys, *search), DONE).document["degraded"]

    search = ("search", "amber anvil", "--theme", "coder", "--json")
    verb = ("reembed", "--admin-dsn", database.admin_dsn)
    endpoint = ("--model", NEW, "--dim", "64", "--url", models.server.url)
    configure(dsn=database.runtime_dsn)
    environment.delenv(f"{ENV_PREFIX}EMBEDDER")
    for fact in FACTS[:3]:
        require(here(capsys, "add", fact, "--sync", "--theme", "coder"), DONE)

    away = require(here(capsys, *verb, *endpoint), DONE)
    in_process("setup", "--yes", "--no-verify", "--embed-model", NEW, "--embed-dim", "64")
    (halfway,) = told(require(here(capsys, "doctor", "--json"), ERROR).document, "vectors", "error")
    by_words = degraded()
    follow(away.out)
    by_meaning = [degraded()]
    home_again = require(here(capsys, *verb, "--model", LOCAL_MODEL), DONE)
    follow(home_again.out)
    by_meaning.append(degraded())
    back = require(here(capsys, *verb, "--switch-back"), DONE)
    follow(back.out)
    by_meaning.append(degraded())
    again = require(here(capsys, *verb, "--json"), DONE).document

    assert by_words
    assert f"--embedder auto --embed-url URL --embed-model {NEW} --embed-dim 64" in halfway
    assert 0 < halfway.index("Configure the stored one") < halfway.index("hermes-memory reembed")
    assert f"--embedder auto --embed-url {models.server.url} --embed-model {NEW} --embed-dim 64\n" in away.out
    assert "setup --yes --embedder local\n" in home_again.out
    assert by_meaning == [[], [], []]
    assert (again["switched"], again["configure"]) == (False, None)


def test_a_model_of_4000_dimensions_is_indexed_also_after_a_process_was_killed_at_it(
    fleet: Models,
    place: Installation,
    new_agent: NewAgent,
    configure: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    agent = new_agent().start()
    remember(agent, FACTS[:6])
    agent.settle()
    agent.provider.shutdown()

    require(here(capsys, *to(WIDE, place, "--fill-only")), DONE)
    # As a process leaves it that is killed: one part of the index never finished, one never attached to the whole.
    # An operator need not be a superuser.
    deployer = place.server.unique_name("deployer")
    asyncio.run(place.administer_all(f'create role "{deployer}" login; grant hermes_memory_owner to "{deployer}"'))
    dsn = place.server.dsn(place.database, user=deployer)
    half_made = """
        drop index hermes_memory.entry_vectors_g2_near, hermes_memory.turn_vectors_g2_near;
        create index entry_vectors_g2_p0_near on hermes_memory.entry_vectors_g2_p0
         using hnsw (embedding public.halfvec_cosine_ops);
        create index entry_vectors_g2_p1_near on hermes_memory.entry_vectors_g2_p1
         using hnsw (embedding public.halfvec_cosine_ops);
        update pg_index set indisvalid = false where indexrelid = 'hermes_memory.entry_vectors_g2_p1_near'::regclass"""
    asyncio.run(place.administer_all(half_made))
    require(here(capsys, *to(WIDE, place, "--json", "--admin-dsn", dsn)), DONE)
    configure(embed_model=WIDE, embed_dim=4_000)
    found = require(here(capsys, "search", "amber anvil", "--theme", "coder", "--json"), DONE).document

    indexes = (
        "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid "
        "where c.relname like '%vectors_g2%near' order by 1"
    )
    assert [valid for _, valid in asyncio.run(rows(place.admin_dsn, indexes))] == [True] * 2 * (PARTITIONS + 1)
    assert (found["degraded"], found["hits"][0]["content"]) == ([], FACTS[0])


def test_other_parts_are_made_anew_beside_the_old_ones_and_agents_keep_to_what_is_stored(
    fleet: Models,
    place: Installation,
    new_agent: NewAgent,
    configure: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def count(generation: int) -> int:
        found: int = asyncio.run(
            value(place.admin_dsn, f"select count(*) from hermes_memory.entry_vectors_g{generation}")
        )
        return found

    configure(embed_part_tokens=32)
    agent = new_agent().start()
    remember(agent, [" ".join(FACTS[:8])])
    agent.settle()
    kept = count(1)
    warned = require(here(capsys, "doctor", "--json"), DONE).document
    require(here(capsys, "reembed", "--admin-dsn", place.admin_dsn, "--json"), DONE)
    parts = count(2)
    remember(agent, [" ".join(FACTS[8:16])])
    agent.settle()
    doctor = require(here(capsys, "doctor", "--json"), DONE).document

    assert kept == 1
    assert [each for each in told(warned, "vectors", "warning") if "parts of 256 tokens" in each and "reembed" in each]
    assert parts > 1
    assert told(doctor, "vectors", "warning") == []
    assert count(2) > parts + 1


def test_an_embedder_that_does_not_serve_changes_nothing_and_is_told_by_the_exit_code(
    fleet: Models, place: Installation, new_agent: NewAgent, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = ("reembed", "--admin-dsn", place.admin_dsn)
    agent = new_agent().start()
    remember(agent, FACTS[:40])
    agent.settle()

    require(here(capsys, *to(NEW, place, "--url", "http://127.0.0.1:9")), DOWN)
    wrong = here(capsys, *verb, "--model", NEW, "--dim", "63")
    usage = [
        require(here(capsys, *verb, *arguments), USAGE)
        for arguments in (
            ("--model", NEW, "--dim", "4001"),
            ("--model", NEW, "--dim", "none"),
            ("--switch-back", "--model", NEW),
            ("--execute",),
            ("--patience", "nan"),
            ("--status", "--switch-back"),
        )
    ]
    unnamed = require(here(capsys, "reembed", "--model", NEW, "--dim", "64"), USAGE)
    before = require(here(capsys, *verb, "--status", "--json"), DONE).document
    fleet.seconds = 0.4
    doomed = operator(*to(NEW, place))
    asyncio.run(_part_of_it(place, doomed, 1))
    require(here(capsys, *verb, "--drop", "2", "--execute"), DONE)
    taken_away = doomed.communicate(timeout=PATIENCE)[1]
    fleet.seconds = 0.0
    fleet.dies_of = "is in room"
    died = require(here(capsys, *to(NEW, place, "--patience", "0.5")), DOWN)
    fleet.dies_of, fleet.dead = None, False
    fleet.refuses = "is in room 1"
    refusing = require(loaded_command(*to(NEW, place, "--json")), WORK_REMAINS).document
    accepted = require(here(capsys, *to(NEW, place, "--json", "--accept-refused")), DONE).document

    assert "Traceback" not in wrong.err
    assert wrong.code == ERROR, wrong.err
    assert all(ran.err for ran in usage)
    assert "--admin-dsn" in unnamed.err
    assert [each["generation"] for each in before["generations"]] == [1]
    assert (doomed.returncode, "was dropped by another operator" in taken_away) == (ERROR, True), taken_away
    assert "the same command goes on" in died.err
    assert (refusing["switched"], refusing["standing"]["active"]) == (False, False)
    assert refusing["standing"]["parked"] == 11
    assert (accepted["switched"], accepted["standing"]["embedded"]) == (True, 29)


def test_an_operator_whose_database_goes_away_reads_that_the_same_command_goes_on(
    fleet: Models, place: Installation, new_agent: NewAgent, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = new_agent().start()
    remember(agent, FACTS[:20])
    agent.settle()
    fleet.seconds = 0.4
    doomed = operator(*to(NEW, place))
    asyncio.run(_part_of_it(place, doomed, 1))
    asyncio.run(place.administer(CUT_OFF))
    said = doomed.communicate(timeout=PATIENCE)[1]
    fleet.seconds = 0.0
    # Dropping what is there so far is given up half-way: the next one takes it up again, with what came in between.
    asyncio.run(place.administer_all(STARVED))
    remember(agent, FACTS[20:23])
    agent.settle()
    taken_up = require(here(capsys, *to(NEW, place, "--json")), DONE).document

    assert (doomed.returncode, "Traceback" in said) == (DOWN, False), said
    assert "the same command goes on with it" in said
    assert (taken_up["standing"]["generation"], taken_up["switched"]) == (2, True)
    assert (taken_up["standing"]["fed"], taken_up["standing"]["embedded"]) == (True, 23)
