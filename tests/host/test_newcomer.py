"""A newcomer's first minutes with the real host: install, activate, set up, look, and be remembered."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from importlib import resources
from pathlib import Path

import yaml

from hermes_memory.hermes.install import install, preload_directory, shim_directory
from tests.support.hermes_host import HermesHost
from tests.support.pages import blocks, not_printed
from tests.support.scripted_model import Say, scripted_model

FACT = "The Cinnabar release is planned for 9 October."
URL = "postgresql://app:hunter2@db.example/memory"
IN_REPOSITORY = "src/hermes_memory/hermes/plugin"


def test_two_commands_after_the_library_what_was_said_is_recalled_in_the_next_session(bare_hermes: HermesHost) -> None:
    installed = bare_hermes.memory("install")
    activated = bare_hermes.hermes("config", "set", "memory.provider", "hermes-memory")
    # A busy machine may take longer than a turn may wait; how long it waits is not the question here.
    bare_hermes.environment |= {"HERMES_MEMORY_PREFETCH_TIMEOUT": "7.5", "HERMES_MEMORY_EMBED_READ_TIMEOUT": "20"}
    first, second = ["When is the Cinnabar release?"], ["When is the Cinnabar release planned?"]
    with scripted_model(Say(FACT), Say("The ninth.")) as model:
        bare_hermes.run(
            "conversation:talk", url=model.url, session="s1", messages=first, until="Cinnabar"
        ).require_clean()
        run = bare_hermes.run("conversation:talk", url=model.url, session="s2", messages=second, ready=True)
        asked = str(model.turns[-1]["messages"][-1]["content"])

    facts = run.require_clean()
    assert installed.returncode == 0, installed.stdout
    assert activated.returncode == 0, activated.stdout
    printed = f"{installed.stdout}\n{activated.stdout}".replace(str(bare_hermes.home), "/home/ana/.hermes")
    for page, place in (("../README.md", 1), ("tutorial/hermes-agent.md", 0)):
        assert not_printed(blocks(page, "shell-session")[place], printed) == []
    assert facts["answers"] == ["The ninth."]
    assert "<memory-context>" in asked
    assert "9 October" in asked
    assert "9 October" not in facts["history"][0]


def test_the_hosts_set_up_walks_the_fields_of_the_form(bare_hermes: HermesHost) -> None:
    install(bare_hermes.home)

    with bare_hermes.at_terminal("memory", "setup") as terminal:
        # The host's list stands on "Built-in only"; our memory is the one above.
        terminal.answer("Built-in only", "k\n")
        terminal.answer("Postgres connection URL [", f"{URL}\n")
        terminal.answer("Embedder (", "opena\n")
        terminal.answer("Embedder (", "none\n")
        terminal.answer("Who reads whom (", "grants\n")
        terminal.answer("Recall before each turn [", "no\n")
        code = terminal.leave()
    status = bare_hermes.hermes("memory", "status")

    assert code == 0, terminal.shown
    assert "cannot be used: expected one of local," in terminal.shown
    assert "Memory provider: hermes-memory" in terminal.shown
    assert "hunter2" not in terminal.shown + status.stdout
    assert json.loads((bare_hermes.home / "hermes-memory.json").read_text()) == {
        "embedder": "none",
        "prefetch": False,
        "read_policy": "grants",
    }
    assert f"HERMES_MEMORY_DSN='{URL}'" in (bare_hermes.home / ".env").read_text()
    assert stat.S_IMODE((bare_hermes.home / ".env").stat().st_mode) == 0o600
    assert yaml.safe_load((bare_hermes.home / "config.yaml").read_text())["memory"]["provider"] == "hermes-memory"
    assert "store: Postgres at db.example" in status.stdout
    assert "Status:    available" in status.stdout


def test_the_dashboard_shows_the_settings_and_no_secret(hermes: HermesHost) -> None:
    hermes.configure(prefetch=False, embedder="ollama", embed_url="http://e", embed_model="m", embed_dim=3)
    (hermes.home / ".env").write_text(f"HERMES_MEMORY_DSN='{URL}'\n")

    run = hermes.run("dashboard:show")

    facts = run.require_clean()
    fields = facts["fields"]
    assert (facts["listed"]["status"], facts["listed"]["configured"]) == ("ready", True)
    assert (fields["dsn"]["kind"], fields["dsn"]["is_set"], fields["dsn"]["value"]) == ("secret", True, "")
    assert (fields["prefetch"]["kind"], fields["prefetch"]["value"]) == ("boolean", False)
    assert (fields["embedder"]["kind"], fields["embedder"]["value"]) == ("select", "ollama")
    assert (fields["embed_dim"]["value"], fields["read_policy"]["value"]) == ("3", "open")
    assert all(field["label"] and field["description"] for field in fields.values())
    assert "hunter2" not in json.dumps(facts)


def test_the_dashboard_saves_what_is_usable_and_shows_why_something_is_not(bare_hermes: HermesHost) -> None:
    install(bare_hermes.home)
    forms = [
        {"embedder": "openai"},
        {"embed_dim": "0"},
        {"dsn": URL, "embedder": "none", "prefetch": "false"},
        {"embedder": "local"},
    ]

    facts = bare_hermes.run("dashboard:save", forms=forms).require_clean()

    alone, wrong, *saved = facts["answers"]
    assert alone == {"status": 400, "detail": "embedder 'openai' also needs embed_url, embed_model, embed_dim"}
    assert wrong["status"] == 400
    assert wrong["detail"].startswith("embed_dim: '0' cannot be used: expected a whole number from 1 to 4,000")
    assert saved == [{"ok": True, "active": "hermes-memory"}] * 2
    native = (bare_hermes.home / "hermes-memory.json").read_text()
    assert json.loads(native) == {"embedder": "local", "prefetch": False, "read_policy": "open"}
    assert URL in (bare_hermes.home / ".env").read_text()
    assert "provider: hermes-memory" in (bare_hermes.home / "config.yaml").read_text()


def test_the_hosts_plugin_installer_takes_the_shim_from_a_sub_directory(
    bare_hermes: HermesHost, tmp_path: Path
) -> None:
    repository = _repository(tmp_path / "repository")

    taken = bare_hermes.hermes("plugins", "install", f"file://{repository}#{IN_REPOSITORY}")
    set_up = bare_hermes.hermes("memory", "setup", "hermes-memory")
    status = bare_hermes.hermes("memory", "status")

    assert taken.returncode == 0, taken.stdout
    assert "pip install 'hermes-memory-postgres[embedded]'" in taken.stdout
    assert "hermes memory setup hermes-memory" in taken.stdout
    assert (shim_directory(bare_hermes.home) / "after-install.md").exists()
    assert set_up.returncode == 0, set_up.stdout
    assert (preload_directory(bare_hermes.home) / "__init__.py").exists()
    assert "Status:    available" in status.stdout, status.stdout


def _repository(place: Path) -> Path:
    """Make a repository that holds the plugin package where this one does."""
    with resources.as_file(resources.files("hermes_memory.hermes.plugin")) as source:
        shutil.copytree(source, place / IN_REPOSITORY, ignore=shutil.ignore_patterns("__pycache__"))
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for step in (("init", "--quiet"), ("add", "."), (*person, "commit", "--quiet", "-m", "The plugin")):
        subprocess.run(["git", *step], cwd=place, check=True, capture_output=True)
    return place
