"""The numbers that a memory shows: of agents and of `serve-metrics`, over HTTP, and to OpenTelemetry."""

from __future__ import annotations

import itertools
import json
import logging
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from hermes_memory.adapters.embedded_postgres.address import ServerAddress, save_address
from hermes_memory.adapters.embedded_postgres.layout import address_path
from hermes_memory.adapters.embedded_postgres.onlooking import running_server
from hermes_memory.adapters.metrics.prometheus import PREFIX
from hermes_memory.application import monitor
from hermes_memory.bootstrap import exposing, watching
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.main import main
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.domain.listening import listening
from hermes_memory.domain.model import Caller, Origin, Target, Theme
from hermes_memory.ports.metrics import Happening, Metric, Place, Timing
from hermes_memory.settings import Settings
from tests.acceptance.conftest import NewAgent
from tests.support.agents import eventually
from tests.support.scraping import samples, scrape, serve_metrics

CHECKOUT: Final = Path(__file__).parents[2]
OPS: Final = CHECKOUT / "ops"
RULES: Final = OPS / "prometheus" / "hermes-memory.rules.yml"
MONITORING: Final = CHECKOUT / "docs" / "how-to" / "monitor.md"
SECRET: Final = "AKIAIOSFODNN7EXAMPLE"
CONTACT: Final = {
    "gateway_session_key": "agent:main:whatsapp:dm:4915150607080@s.whatsapp.net",
    "platform": "whatsapp",
    "user_id": "4915150607080",
    "agent_identity": "falconer",
}
MARKS: Final = (SECRET, "4915150607080", "whatsapp", "falconer", "kestrel", "gyrfalcon", "session-17")
LABELS: Final = {"le", "stage", "outcome", "reason"}


@pytest.mark.usefixtures("served")
def test_agents_and_the_exporter_show_all_that_is_measured_and_nothing_of_anybody(
    new_agent: NewAgent,
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(monitor, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(monitor, "ASK_SECONDS", 0.1)
    caplog.set_level(logging.INFO, logger=exposing.__name__)
    configure(embedder="local", metrics_listen="127.0.0.1:0")
    agent = new_agent().start("session-17", **CONTACT)
    (port,) = eventually(lambda: [vars(record)["port"] for record in caplog.records if "port" in vars(record)])
    agent.provider.on_memory_write("add", "user", f"kestrel keys: {SECRET}", {"session_id": "session-17"})
    agent.provider.sync_turn("The gyrfalcon is fed at noon.", "Noted: the gyrfalcon, noon.", session_id="session-17")
    agent.settle()
    assert agent.tool("recall_memory", query="What is there of the kestrel?")["hits"]
    with serve_metrics("--every", "1") as (url, process):
        of_home = eventually(lambda: _with(scrape(url), "hermes_memory_turns", 2))
        agents = f"http://127.0.0.1:{port}/metrics"
        eventually(lambda: _with(scrape(agents), "hermes_memory_embedded_total", 3))
        of_agent = eventually(lambda: _with(scrape(agents), "hermes_memory_unembedded_rows", 0))
        process.send_signal(signal.SIGTERM)
        ended = process.wait(90)
    home, own = samples(of_home), samples(of_agent)

    assert ended == 0
    assert home[f"{PREFIX}entries"] == 1
    assert (home[f"{PREFIX}store_up"], home[f"{PREFIX}led"], home[f"{PREFIX}spool_readable"]) == (1, 1, 1)
    assert home[f"{PREFIX}secrets_redacted_total"] == own[f"{PREFIX}secrets_redacted_total"] == 1
    assert own[f"{PREFIX}spool_delivered_total"] == own[f"{PREFIX}delivered_total"] == 2
    assert own[f"{PREFIX}accept_seconds_count"] == own[f"{PREFIX}delivery_lag_seconds_count"] == 2
    assert own[f"{PREFIX}recalls_total"] >= 1
    assert own[f"{PREFIX}pool_wait_seconds_count"] > 2
    assert home[f"{PREFIX}unembedded_rows"] == 0

    assert _missing(own, home) == []
    assert _labels(of_home) | _labels(of_agent) == LABELS
    assert [mark for mark in MARKS if mark in (of_home + of_agent).lower() or mark in of_home + of_agent] == []

    shown = own.keys() | home.keys()
    for expression in [*_of_rules(), *_of_dashboard()]:
        assert _names(expression) <= shown, expression
        assert _chosen(expression) <= _labelled(of_home) | _labelled(of_agent), expression
    assert any(map(_chosen, _of_rules()))


@pytest.mark.usefixtures("home")
def test_a_home_is_watched_while_its_database_is_away(
    configure: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    configure(dsn="postgresql://app@127.0.0.1:1/nowhere", connect_timeout=1)
    half = open_local_half(Settings())
    half.acceptor.add(Caller(theme=Theme("desk")), "The launch", target=Target.MEMORY, origin=Origin.USER)
    half.spool.close()
    with serve_metrics() as (url, process):
        shown = samples(scrape(url))
        port = url.rsplit(":", 1)[1].partition("/")[0]
        second = main(["serve-metrics", "--listen", f"127.0.0.1:{port}"])
        process.send_signal(signal.SIGINT)
        ended = process.wait(90)

    assert ended == 0
    assert (shown[f"{PREFIX}spool_depth"], shown[f"{PREFIX}store_up"], shown[f"{PREFIX}led"]) == (1, 0, 0)
    assert f"{PREFIX}unembedded_rows" not in shown
    assert second == 1
    assert port in capsys.readouterr().err


@pytest.mark.usefixtures("home")
async def test_an_error_that_nobody_foresaw_costs_whoever_watches_a_home_one_reading(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configure(dsn="postgresql://app@127.0.0.1:1/nowhere", connect_timeout=1)
    open_local_half(Settings()).spool.close()
    read, looks, again = watching.Watch.read, itertools.count(1), anyio.Event()

    async def failing_once(watch: watching.Watch) -> Mapping[Metric, float]:
        look = next(looks)
        if look == 2:
            raise ZeroDivisionError
        if look == 4:
            again.set()
        return await read(watch)

    monkeypatch.setattr(watching.Watch, "read", failing_once)
    async with watching.served(Settings(), listening("127.0.0.1:0"), every=0.01):
        with anyio.fail_after(60):
            await again.wait()

    assert [vars(entry).get("action") for entry in caplog.records] == ["metrics.fault"]


def test_what_is_shown_to_other_machines_has_to_be_allowed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = main(["serve-metrics", "--listen", "0.0.0.0:0"])
    said = capsys.readouterr().err
    with pytest.raises(SystemExit) as nonsense:
        main(["serve-metrics", "--listen", "metrics.example.org:9464"])
    corrected = capsys.readouterr().err
    elsewhere = main(["serve-metrics", "--hermes-home", str(home / "nowhere"), "--listen", "127.0.0.1:0"])
    with pytest.raises(ConfigurationError) as setting:
        Settings(metrics_listen="0.0.0.0:9464")

    assert (refused, nonsense.value.code, elsewhere) == (64, 64, 64)
    assert "--beyond-loopback" in said
    assert "127.0.0.1:9464" in corrected
    assert "metrics_beyond_loopback" in str(setting.value)
    assert Settings(metrics_listen="0.0.0.0:9464", metrics_beyond_loopback=True).metrics_listen == "0.0.0.0:9464"


def test_an_embedded_server_that_does_not_run_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not run"):
        running_server(tmp_path)
    save_address(address_path(tmp_path), ServerAddress(socket_directory=tmp_path))
    with pytest.raises(StoreUnavailable, match="does not run"):
        running_server(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [address_path(tmp_path).name]


def _with(exposition: str, name: str, value: float) -> str:
    """Return what is shown, once a number of it has a value, else nothing."""
    return exposition if samples(exposition).get(name) == value else ""


def _missing(own: Mapping[str, float], home: Mapping[str, float]) -> list[str]:
    """Return what ought to be shown by agents, by the exporter, or by both, and is not."""
    absent = []
    for metric in Metric:
        name = f"{PREFIX}{metric}{'_total' if metric.counts else ''}"
        if metric.place is not Place.PROCESS and name not in home:
            absent.append(f"exporter: {name}")
        if metric.place is Place.PROCESS and name not in own:
            absent.append(f"agent: {name}")
    families = {timing.family for timing in Timing}
    absent += [f"agent: {family}" for family in families if f"{PREFIX}{family}_bucket" not in own]
    kinds = {happening.family for happening in Happening}
    return absent + [f"agent: {family}" for family in kinds if f"{PREFIX}{family}_total" not in own]


def _labels(exposition: str) -> set[str]:
    families = text_string_to_metric_families(exposition)
    return {label for family in families for sample in family.samples for label in sample.labels}


def _labelled(exposition: str) -> set[tuple[str, str, str]]:
    """Return what may be chosen: a number's name, a label of it, and its value."""
    families = text_string_to_metric_families(exposition)
    return {
        (sample.name, *label) for family in families for sample in family.samples for label in sample.labels.items()
    }


def _chosen(expression: str) -> set[tuple[str, str, str]]:
    """Return the names of an expression that are narrowed to a value of a label, with both."""
    return {
        (name, *label)
        for name, labels in re.findall(rf"\b({PREFIX}\w+){{([^}}]*)}}", expression)
        for label in re.findall(r'(\w+)="([^"]*)"', labels)
    }


def _rules() -> Iterator[Mapping[str, Any]]:
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]


def _dashboard() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads((OPS / "grafana" / "hermes-memory.json").read_text(encoding="utf-8"))
    return document


def _of_rules() -> list[str]:
    return [rule["expr"] for rule in _rules()]


def _of_dashboard() -> list[str]:
    targets = [target["expr"] for panel in _dashboard()["panels"] for target in panel.get("targets", ())]
    return [target.replace("$__rate_interval", "5m").replace("$job", ".*") for target in targets]


def _names(expression: str) -> set[str]:
    """Return the names of an expression, which the parser of Prometheus's language has to accept."""
    promql_parser.parse(expression)
    return set(re.findall(rf"\b{PREFIX}\w+", expression))


def test_every_alert_is_whole_and_explained() -> None:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    page = MONITORING.read_text(encoding="utf-8")
    rules = [*_rules()]
    names = [rule["alert"] for rule in rules]

    assert set(document) == {"groups"}
    assert all(set(group) == {"name", "rules"} for group in document["groups"])
    assert len(set(names)) == len(names) >= 15
    for rule in rules:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}, rule
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1s"))
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}
        assert len(_names(rule["expr"])) >= 1
    assert re.findall(r"^\| `(HermesMemory\w+)`", page, re.MULTILINE) == names
    if checker := shutil.which("promtool"):
        checked = subprocess.run([checker, "check", "rules", str(RULES)], capture_output=True, timeout=60, check=False)
        assert checked.returncode == 0, checked


def test_the_example_of_a_scrape_configuration_names_the_ports_of_the_documentation() -> None:
    document = yaml.safe_load((OPS / "prometheus" / "scrape.yml").read_text(encoding="utf-8"))
    targets = [
        target for job in document["scrape_configs"] for group in job["static_configs"] for target in group["targets"]
    ]

    assert document["rule_files"] == [RULES.name]
    assert targets[0] == "127.0.0.1:9464"
    assert "127.0.0.1:9465-9468" in MONITORING.read_text(encoding="utf-8")
    assert targets[1:] == [f"127.0.0.1:{port}" for port in range(9465, 9469)]


def test_the_dashboard_has_what_grafana_needs_and_its_panels_do_not_overlap() -> None:
    document = _dashboard()
    panels = document["panels"]
    places = [panel["gridPos"] for panel in panels]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    graphs = [panel for panel in panels if panel["type"] != "row"]

    assert {"uid", "title", "schemaVersion", "time", "templating", "panels"} <= document.keys()
    assert [variable["name"] for variable in document["templating"]["list"]] == ["datasource", "job"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert {panel["type"] for panel in panels} == {"row", "stat", "timeseries"}
    for panel in graphs:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) >= 1
        assert all('{job=~"$job"}' in target["expr"] for target in panel["targets"])


def test_opentelemetry_is_told_spans_within_the_hosts_own_and_numbers_while_a_memory_is_open() -> None:
    told = json.loads(_program("told", "auto"))
    numbers, spans = set(told["numbers"]), {tuple(span) for span in told["spans"]}

    assert {
        ("hermes_memory.recall", "turn"),
        ("hermes_memory.recall_stage.text", "hermes_memory.recall"),
        ("hermes_memory.accept", "turn"),
    } <= spans
    assert "hermes_memory.delivery" in {name for name, _ in spans}
    assert {"hermes_memory.spool_depth", "hermes_memory.recall_seconds", "hermes_memory.recalls"} <= numbers
    assert told["afterwards"] == []
    assert [mark for mark in ("launch", "kestrel") if mark in told["everything"]] == []


def test_what_nobody_wants_is_not_even_loaded() -> None:
    assert json.loads(_program("loaded", "off")) == []


def _program(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.telemetry_process", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
