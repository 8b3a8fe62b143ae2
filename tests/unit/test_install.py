"""The shim in the host's plugin directory: written, checked, refreshed and removed without touching anything else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from tests.support.command import in_process

from hermes_memory.cli.exits import ERROR
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes import install as installing
from hermes_memory.hermes.files import write_atomically
from hermes_memory.hermes.install import (
    DISTRIBUTION,
    PLUGIN_NAME,
    detect_name_clash,
    install,
    interpreter_of_hermes,
    preload_directory,
    remove,
    shim_directory,
    verify,
)
from hermes_memory.hermes.tools import TOOL_NAMES

OURS = Path(sys.modules["hermes_memory"].__file__ or "")
"""The library under test."""

MARKER_CHARS = 8192
"""How far into `__init__.py` the host looks for the words that make a directory a memory provider."""


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the fresh interpreter, which takes a while, where only files matter."""
    monkeypatch.setattr(installing, "verify", lambda directory, **_: (None, ()))


def _killed(*_: object) -> None:
    raise OSError("killed")


def _snapshot(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir() if path.is_file()}


@pytest.mark.usefixtures("unchecked")
def test_the_shim_is_a_copy_of_the_plugin_package(tmp_path: Path) -> None:
    result = install(tmp_path)

    package = resources.files("hermes_memory.hermes.plugin")
    assert result.path == tmp_path / "plugins" / "hermes-memory"
    assert result.changed
    for name in ("__init__.py", "cli.py", "plugin.yaml"):
        assert (result.path / name).read_text() == package.joinpath(name).read_text()


def test_the_host_recognises_the_shim_by_its_first_characters() -> None:
    text = resources.files("hermes_memory.hermes.plugin").joinpath("__init__.py").read_text()

    assert "register_memory_provider" in text[:MARKER_CHARS]


def test_the_manifest_fits_the_package_and_its_tools() -> None:
    manifest = yaml.safe_load(resources.files("hermes_memory.hermes.plugin").joinpath("plugin.yaml").read_text())

    assert manifest["name"] == PLUGIN_NAME
    assert manifest["version"] == metadata.version(DISTRIBUTION)
    assert manifest["distribution"] == DISTRIBUTION
    assert set(manifest["provides_tools"]) == TOOL_NAMES
    assert "pip_dependencies" not in manifest


def test_no_function_of_the_plugin_is_named_like_a_sibling_file() -> None:
    import hermes_memory.hermes.plugin as plugin

    siblings = {path.stem for path in Path(plugin.__file__).parent.glob("*.py")} - {"__init__"}
    assert siblings == {"cli"}
    assert not siblings & {name for name, value in vars(plugin).items() if not isinstance(value, ModuleType)}


def test_importing_the_plugin_imports_no_provider_and_no_driver() -> None:
    code = "import sys; import hermes_memory.hermes.plugin; print(' '.join(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    imported = set(done.stdout.split())
    assert "hermes_memory.hermes.plugin" in imported
    assert not {"hermes_memory.hermes.provider", "hermes_memory.adapters", "asyncpg", "aiohttp"} & imported


@pytest.mark.usefixtures("unchecked")
def test_installing_again_changes_nothing(tmp_path: Path) -> None:
    install(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in shim_directory(tmp_path).iterdir()}

    again = install(tmp_path)

    assert not again.changed
    assert {path: path.stat().st_mtime_ns for path in shim_directory(tmp_path).iterdir()} == before


@pytest.mark.usefixtures("unchecked")
def test_an_older_shim_of_ours_is_refreshed(tmp_path: Path) -> None:
    directory = install(tmp_path).path
    (directory / "__init__.py").write_text("# an older version")

    assert install(tmp_path).changed
    assert "register_memory_provider" in (directory / "__init__.py").read_text()


@pytest.mark.usefixtures("unchecked")
def test_the_host_gets_a_preload_that_offers_no_model(tmp_path: Path) -> None:
    install(tmp_path)

    manifest = yaml.safe_load((preload_directory(tmp_path) / "plugin.yaml").read_text())
    assert preload_directory(tmp_path) == tmp_path / "plugins" / "model-providers" / "hermes-memory"
    assert (manifest["kind"], manifest["version"]) == ("model-provider", metadata.version(DISTRIBUTION))
    assert "register_provider" not in (preload_directory(tmp_path) / "__init__.py").read_text()


@pytest.mark.usefixtures("unchecked")
def test_a_foreign_model_provider_of_our_name_leaves_the_shim_unwritten(tmp_path: Path) -> None:
    preload_directory(tmp_path).mkdir(parents=True)
    (preload_directory(tmp_path) / "plugin.yaml").write_text("name: hermes-memory\nkind: model-provider\n")

    with pytest.raises(ConfigurationError, match="not made by"):
        install(tmp_path)

    assert not shim_directory(tmp_path).exists()


@pytest.mark.usefixtures("unchecked")
def test_an_empty_directory_is_filled(tmp_path: Path) -> None:
    shim_directory(tmp_path).mkdir(parents=True)

    assert install(tmp_path).changed


@pytest.mark.usefixtures("unchecked")
def test_what_a_killed_install_left_is_removed_by_the_next(tmp_path: Path) -> None:
    drafts = [
        place.with_name(".hermes-memory.draft-killed")
        for place in (shim_directory(tmp_path), preload_directory(tmp_path))
    ]
    for draft in drafts:
        (draft / "hermes-memory").mkdir(parents=True)

    install(tmp_path)

    assert not any(draft.exists() for draft in drafts)


@pytest.mark.usefixtures("unchecked")
def test_a_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    directory = shim_directory(tmp_path)
    directory.mkdir(parents=True)
    (directory / "__init__.py").write_text("# somebody else's")
    (directory / "plugin.yaml").write_text("name: hermes-memory\n")
    before = _snapshot(directory)

    with pytest.raises(ConfigurationError, match="not made by"):
        install(tmp_path)
    with pytest.raises(ConfigurationError, match="not made by"):
        remove(tmp_path)

    assert _snapshot(directory) == before


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "manifest",
    ["", "[", "- a\n", "\udcff", "since: 2026-02-30\n", "[" * 2_000],
    ids=lambda manifest: ascii(manifest[:40]),
)
def test_a_directory_whose_manifest_cannot_be_read_is_foreign(tmp_path: Path, manifest: str) -> None:
    directory = shim_directory(tmp_path)
    directory.mkdir(parents=True)
    (directory / "plugin.yaml").write_bytes(manifest.encode("utf-8", "surrogateescape"))

    with pytest.raises(ConfigurationError, match="not made by"):
        install(tmp_path)


@pytest.mark.usefixtures("unchecked")
def test_force_sets_a_foreign_directory_aside_where_the_host_does_not_look(tmp_path: Path) -> None:
    for number in (1, 2):
        directory = shim_directory(tmp_path)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "plugin.yaml").write_text("name: hermes-memory\n")
        (directory / "treasure.txt").write_text(f"kept {number}")

        result = install(tmp_path, force=True)

        (aside,) = result.set_aside
        assert aside.name == f".hermes-memory.replaced-{number}"
        assert (aside / "treasure.txt").read_text() == f"kept {number}"
        assert not (result.path / "treasure.txt").exists()


@pytest.mark.usefixtures("unchecked")
def test_force_sets_a_file_in_the_place_aside(tmp_path: Path) -> None:
    shim_directory(tmp_path).parent.mkdir()
    shim_directory(tmp_path).write_text("a file")

    assert install(tmp_path, force=True).set_aside


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("force", [False, True])
def test_a_symbolic_link_is_refused_whatever_is_forced(tmp_path: Path, force: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    install(elsewhere)
    shim_directory(tmp_path).parent.mkdir()
    shim_directory(tmp_path).symlink_to(shim_directory(elsewhere))
    before = _snapshot(shim_directory(elsewhere))

    with pytest.raises(ConfigurationError, match="symbolic link"):
        install(tmp_path, force=force)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        remove(tmp_path, force=force)

    assert _snapshot(shim_directory(elsewhere)) == before


@pytest.mark.usefixtures("unchecked")
def test_a_dangling_link_is_refused_too(tmp_path: Path) -> None:
    shim_directory(tmp_path).parent.mkdir()
    shim_directory(tmp_path).symlink_to(tmp_path / "nowhere")

    with pytest.raises(ConfigurationError, match="symbolic link"):
        install(tmp_path)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        remove(tmp_path)


@pytest.mark.usefixtures("unchecked")
def test_a_linked_file_inside_is_refused(tmp_path: Path) -> None:
    directory = install(tmp_path).path
    (directory / "cli.py").rename(tmp_path / "cli.py")
    (directory / "cli.py").symlink_to(tmp_path / "cli.py")

    with pytest.raises(ConfigurationError, match="symbolic link"):
        install(tmp_path)


@pytest.mark.usefixtures("unchecked")
def test_removing_leaves_nothing_of_ours_and_everything_else(tmp_path: Path) -> None:
    directory = install(tmp_path).path
    (directory / "__pycache__").mkdir(exist_ok=True)
    (directory / "__pycache__" / "cli.pyc").touch()
    (tmp_path / "plugins" / "other").mkdir()

    result = remove(tmp_path)

    assert result.removed
    assert [path.name for path in (tmp_path / "plugins").iterdir()] == ["other"]


@pytest.mark.usefixtures("unchecked")
def test_removing_leaves_the_users_own_model_providers(tmp_path: Path) -> None:
    install(tmp_path)
    own = preload_directory(tmp_path).with_name("own")
    own.mkdir()

    remove(tmp_path)

    assert list(own.parent.iterdir()) == [own]


@pytest.mark.usefixtures("unchecked")
def test_the_check_finds_a_preload_that_does_not_do_its_work(tmp_path: Path) -> None:
    install(tmp_path)
    (preload_directory(tmp_path) / "__init__.py").write_text("# nothing")

    _, problems = verify(shim_directory(tmp_path))

    assert any("preload" in problem for problem in problems)


def test_removing_nothing_is_no_error(tmp_path: Path) -> None:
    assert not remove(tmp_path).removed


@pytest.mark.usefixtures("unchecked")
def test_a_shim_with_files_of_the_user_is_not_removed(tmp_path: Path) -> None:
    directory = install(tmp_path).path
    (directory / "notes.txt").write_text("mine")

    with pytest.raises(ConfigurationError, match=r"notes\.txt"):
        remove(tmp_path)
    assert (directory / "__init__.py").exists()

    (aside,) = remove(tmp_path, force=True).set_aside
    assert (aside / "notes.txt").read_text() == "mine"
    assert not shim_directory(tmp_path).exists()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("change", [install, remove])
def test_what_a_killed_upgrade_left_in_the_shim_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    shim = install(tmp_path).path
    before = set(shim.iterdir())
    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", _killed)
        killed.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(OSError, match="killed"):
            write_atomically(shim / "cli.py", "half of")
    (left,) = set(shim.iterdir()) - before
    change(tmp_path)

    assert not left.exists()


@pytest.mark.usefixtures("unchecked")
def test_a_copy_that_somebody_keeps_of_one_of_our_files_is_not_removed(tmp_path: Path) -> None:
    copies = [install(tmp_path).path / f".{name}" for name in ("plugin.yaml.disabled", "cli.py.k3x_9q2a")]
    for copy in copies:
        copy.write_text("mine")
    install(tmp_path)
    with pytest.raises(ConfigurationError, match=r"also holds \.cli\.py\.k3x_9q2a, \.plugin\.yaml\.disabled"):
        remove(tmp_path)

    assert [copy.read_text() for copy in copies] == ["mine", "mine"]


def test_whoever_removes_while_an_install_is_checked_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed_meanwhile(directory: Path, **_: object) -> tuple[None, tuple[str, ...]]:
        remove(tmp_path)
        return None, ("it is gone",)

    monkeypatch.setattr(installing, "verify", removed_meanwhile)

    assert install(tmp_path).problems == ("it is gone",)


@pytest.mark.usefixtures("unchecked")
def test_a_stranger_that_the_host_would_execute_is_a_problem(tmp_path: Path) -> None:
    directory = install(tmp_path).path
    (directory / "conftest.py").touch()

    assert any("conftest.py" in problem for problem in install(tmp_path).problems)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "plugins").write_text("in the way")

    with pytest.raises(ConfigurationError, match="cannot write"):
        install(tmp_path)


def _library(site: Path, *, provider: str) -> Path:
    package = site / "hermes_memory" / "hermes"
    package.mkdir(parents=True)
    (site / "hermes_memory" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "provider.py").write_text(provider)
    return site / "hermes_memory" / "__init__.py"


@pytest.mark.usefixtures("unchecked")
def test_a_fresh_interpreter_tells_which_library_the_shim_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = _library(tmp_path / "site", provider="class HermesMemoryProvider: pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    found, problems = verify(install(tmp_path).path)

    assert found == library
    assert len(problems) == 1
    assert f"finds {library} " in problems[0]


@pytest.mark.usefixtures("unchecked")
def test_a_library_that_breaks_on_import_is_a_problem_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _library(tmp_path / "site", provider="import asyncpg_of_the_future\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    _, problems = verify(install(tmp_path).path)

    assert any("asyncpg_of_the_future" in problem for problem in problems)


@pytest.mark.usefixtures("unchecked")
def test_another_package_of_our_name_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = tmp_path / "site" / "hermes_memory"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(foreign.parent))

    found, problems = verify(install(tmp_path).path)

    assert found == foreign / "__init__.py"
    assert any("hermes_memory.hermes" in problem for problem in problems)


@pytest.mark.usefixtures("unchecked")
def test_the_check_is_not_misled_by_files_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')")
    monkeypatch.chdir(tmp_path)

    found, _ = verify(install(tmp_path).path)

    assert found == OURS


def test_installing_verifies_that_the_host_gets_this_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # without a `hermes`
    result = install(Path("home"))  # named as from the working directory, which the fresh interpreter does not share

    assert result.problems == ()
    assert result.verified
    assert result.library == OURS
    assert sorted(path.name for path in result.path.glob("*.*")) == ["__init__.py", "cli.py", "plugin.yaml"]
    assert list((result.path / "__pycache__").iterdir()) == []


def test_without_the_other_distribution_there_is_no_clash() -> None:
    assert detect_name_clash() is None


def test_the_other_distribution_of_our_name_is_a_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "hermes_memory-0.3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-memory\nVersion: 0.3.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    clash = detect_name_clash()

    assert clash
    assert (clash.distribution, clash.version) == ("hermes-memory", "0.3.0")
    assert "uninstall it" in str(clash)


def test_a_fork_that_installs_the_same_package_is_a_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "some_fork-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-fork\nVersion: 1\n")
    (info / "top_level.txt").write_text("hermes_memory\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    clash = detect_name_clash()

    assert clash
    assert clash.distribution == "some-fork"


def _command(directory: Path, text: str) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    command = directory / "hermes"
    command.write_text(text)
    command.chmod(0o755)
    return str(directory)


def test_without_a_hermes_command_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert interpreter_of_hermes(path=str(tmp_path)) is None


def test_a_hermes_of_this_interpreter_sees_the_library(tmp_path: Path) -> None:
    found = interpreter_of_hermes(path=_command(tmp_path, f"#!{sys.executable}\n"))

    assert found
    assert found.sees_memory is True


def _other_python(tmp_path: Path) -> Path:
    """An interpreter that starts without any site-packages, and so without this library."""
    python = tmp_path / "other dir" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(
    "launcher",
    [
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport sys\n",
        '#!/usr/bin/env bash\nunset PYTHONPATH\nexec "{bin}/real/hermes" "$@"\n',
        "#!/bin/sh\nexec '{bin}/real/hermes' --flag \"$@\"\n",
    ],
    ids=["trampoline", "wrapper", "quoted wrapper"],
)
def test_a_hermes_of_another_interpreter_is_told_with_the_remedy(tmp_path: Path, launcher: str) -> None:
    python = _other_python(tmp_path)
    _command(tmp_path / "bin" / "real", f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n")
    path = _command(tmp_path / "bin", launcher.format(python=python, bin=tmp_path / "bin"))

    found = interpreter_of_hermes(path=path)

    assert found
    assert found.python == python
    assert found.sees_memory is False
    assert f"{python} -m pip install" in found.problem


@pytest.mark.usefixtures("unchecked")
def test_install_says_that_the_python_of_hermes_lacks_the_library_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = _other_python(tmp_path)
    path = _command(tmp_path / "bin", f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n")
    monkeypatch.setenv("PATH", path, prepend=os.pathsep)

    code = in_process("install", "--hermes-home", str(tmp_path / "home"))

    told = capsys.readouterr().out
    assert code == ERROR
    assert f"problem: '{path}/hermes' runs {python}, which does not find this library: {python} -m pip" in told
    assert "activate" not in told


def test_an_interpreter_that_is_gone_is_told(tmp_path: Path) -> None:
    found = interpreter_of_hermes(path=_command(tmp_path, f"#!{tmp_path}/gone/python3\n"))

    assert found
    assert found.sees_memory is None
    assert "cannot be asked" in found.problem


def test_a_launcher_that_does_not_tell_its_interpreter_is_no_problem(tmp_path: Path) -> None:
    found = interpreter_of_hermes(path=_command(tmp_path, "\x7fELF\x00\x01"))

    assert found
    assert (found.python, found.sees_memory, found.problem) == (None, None, "")


def test_launchers_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    path = _command(tmp_path, f'#!/bin/sh\nexec "{tmp_path}/hermes" "$@"\n')

    found = interpreter_of_hermes(path=path)

    assert found
    assert found.python is None


@pytest.mark.usefixtures("unchecked")
def test_a_restrictive_umask_does_not_hide_the_shim_from_the_host(tmp_path: Path) -> None:
    previous = os.umask(0o077)
    try:
        directory = install(tmp_path).path
    finally:
        os.umask(previous)

    assert (directory / "__init__.py").stat().st_mode & 0o777 == 0o644
