"""The ways into the host: shim, copied directory, entry point, bare factory, after the command line, in threads."""

from __future__ import annotations

import json
import re
import shutil
from importlib import resources
from pathlib import Path

from hermes_memory.hermes.install import install, shim_directory
from tests.support.hermes_host import HermesHost
from tests.support.verbs import USES

TOOLS = ["memory_forget", "memory_profile", "memory_remember", "recall_conversation", "recall_memory"]


def test_the_host_loads_the_provider_through_the_shim(hermes: HermesHost) -> None:
    facts = hermes.run("loading:from_directory").require_clean()

    assert facts["class"] == "hermes_memory.hermes.provider.HermesMemoryProvider"
    assert facts["is_provider"]
    assert facts["name"] == "hermes-memory"
    assert facts["available"], facts["reason"]
    assert facts["fresh_instances"]
    assert facts["listed"][0][2] is True


def test_the_host_loads_the_provider_from_a_copy_of_the_plugin_directory(bare_hermes: HermesHost) -> None:
    with resources.as_file(resources.files("hermes_memory.hermes.plugin")) as source:
        shutil.copytree(source, shim_directory(bare_hermes.home))
    bare_hermes.activate()

    facts = bare_hermes.run("loading:from_directory").require_clean()

    assert facts["class"] == "hermes_memory.hermes.provider.HermesMemoryProvider"
    assert facts["available"], facts["reason"]


def test_the_host_loads_the_provider_after_it_has_built_its_command_line(hermes: HermesHost) -> None:
    facts = hermes.run("loading:after_the_command_line").require_clean()

    assert facts["command"] == "hermes-memory"
    assert "doctor" in facts["help"]
    assert facts["available"], facts["reason"]


def test_a_newer_host_loads_the_provider_from_the_entry_point(bare_hermes: HermesHost) -> None:
    facts = bare_hermes.run("loading:from_entry_point").require_clean()

    assert facts["class"] == "hermes_memory.hermes.provider.HermesMemoryProvider"
    assert facts["is_provider"]
    assert facts["available"], facts["reason"]


def test_the_provider_class_serves_as_a_factory(bare_hermes: HermesHost) -> None:
    facts = bare_hermes.run("loading:from_bare_factory").require_clean()

    assert facts["name"] == "hermes-memory"
    assert facts["available"], facts["reason"]


def test_the_entry_points_directory_is_found_without_importing_the_library(bare_hermes: HermesHost) -> None:
    facts = bare_hermes.run("loading:directory_without_import").require_clean()

    assert {"__init__.py", "cli.py", "plugin.yaml"} <= set(facts["files"])
    assert not [
        name for name in facts["imported"] if name.startswith(("hermes_memory.hermes.", "hermes_memory.adapters"))
    ]


def test_eight_threads_at_once_all_get_a_provider_from_a_newer_host(bare_hermes: HermesHost) -> None:
    facts = bare_hermes.run("loading:in_threads", threads=8, loader="entry point", warm=False).require_clean()

    assert facts["available"] == [True] * 8
    assert facts["distinct"] == 8


def test_eight_threads_at_once_all_get_a_provider_from_a_host_that_loaded_it_before(hermes: HermesHost) -> None:
    facts = hermes.run("loading:in_threads", threads=8, loader="directory", warm=True).require_clean()

    assert facts["available"] == [True] * 8
    assert facts["distinct"] == 8


def test_eight_threads_at_once_all_get_a_provider_from_a_host_that_just_started(hermes: HermesHost) -> None:
    # As shipped, the gap is hit in some processes only. So three of them, and in the fourth the gap is a second wide.
    for process in range(4):
        if process == 3:
            (shim_directory(hermes.home) / "slow.py").write_text("import time\ntime.sleep(1)\n")
        facts = hermes.run("loading:in_threads", threads=8, loader="directory", warm=False).require_clean()

        assert facts["available"] == [True] * 8
        assert facts["distinct"] == 8


def test_the_preload_of_a_shim_that_is_gone_does_not_disturb_the_host(hermes: HermesHost) -> None:
    shutil.rmtree(shim_directory(hermes.home))

    status = hermes.hermes("memory", "status")

    assert status.returncode == 0, status.stdout
    assert "Failed to load" not in status.stdout
    assert "NOT installed" in status.stdout


def test_the_manager_keeps_every_tool(hermes: HermesHost) -> None:
    facts = hermes.run("loading:as_the_manager_takes_it").require_clean()

    assert facts["tools"] == TOOLS


def test_a_shim_without_its_library_is_listed_as_not_available_and_says_why(
    bare_hermes: HermesHost, tmp_path: Path
) -> None:
    install(bare_hermes.home)
    bare_hermes.activate()
    shadow = tmp_path / "shadow" / "hermes_memory"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").touch()
    bare_hermes.environment["PYTHONPATH"] = str(shadow.parent)

    status = bare_hermes.hermes("memory", "status")

    assert "not available" in status.stdout
    assert "hermes_memory cannot be imported" in status.stdout


def test_memory_status_of_the_host_says_available(hermes: HermesHost) -> None:
    status = hermes.hermes("memory", "status")

    assert "Status:    available" in status.stdout, status.stdout
    assert "embedded Postgres" in status.stdout


def test_memory_setup_of_the_host_activates_the_provider(bare_hermes: HermesHost) -> None:
    install(bare_hermes.home)

    done = bare_hermes.hermes("memory", "setup", "hermes-memory")

    assert "Memory provider: hermes-memory" in done.stdout
    assert "provider: hermes-memory" in (bare_hermes.home / "config.yaml").read_text()


def test_the_hosts_command_line_serves_our_verbs(hermes: HermesHost) -> None:
    helped = hermes.hermes("hermes-memory", "--help")
    unknown = hermes.hermes("hermes-memory", "no-such-verb")
    shown = hermes.hermes("hermes-memory", "config", "show", "pool_size", "--json")
    refused = hermes.hermes("hermes-memory", "forget", " ")

    assert helped.returncode == 0, helped.stdout
    assert {name.partition(" ")[0] for name in USES} <= set(re.split(r"[\s,{}]+", helped.stdout))
    assert unknown.returncode == 2
    assert json.loads(shown.stdout)["settings"][0]["value"] == 4
    assert refused.returncode == 64
    assert "must not be blank" in refused.stdout
