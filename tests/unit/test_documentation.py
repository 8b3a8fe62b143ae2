"""The documentation agrees with the code and with itself."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.page_scripts import page_script
from tests.support.tables import for_each

from hermes_memory.application.importing.pgvector_settings import DROPPED, RENAMED
from hermes_memory.cli.main import command_parser
from hermes_memory.domain import errors
from hermes_memory.settings import Settings

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
PAGES = sorted(page for page in [*DOCS.rglob("*.md"), CHECKOUT / "README.md"] if "_build" not in page.parts)
LINKED = [*PAGES, *(CHECKOUT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]
OLD_KEYS = [
    "dsn",
    "embed_url",
    "embed_model",
    "embed_dim",
    "embed_api_key_env",
    "embed_protocol",
    "prefetch_limit",
    "min_similarity",
    "embed_on_write",
    "scope_default",
    "hybrid_search",
    "write_queue_maxsize",
    "bulk_sync_on_init",
    "sync_turns",
    "turn_min_chars",
    "allowed_themes",
    "identity_aliases",
    "bench_mode",
    "conversation_embed_policy",
    "ttl_days",
    "embed_timeout",
    "embed_write_timeout",
    "embed_write_retries",
    "embed_write_backoff",
    "prefetch_budget",
    "write_contexts",
    "shutdown_drain_timeout",
]
OLD_VERBS = ["migrate", "stats", "backfill", "prune", "cleanup", "remap", "install", "add", "search", "doctor"]
OLD_TOOLS = ["recall_memory", "recall_conversation", "profile", "search", "remember", "forget"]
_NAMED_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
_FENCED = re.compile(r"^( *)(```+).*?^\1\2$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^ *```(console|shell-session|shell|bash|ini)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r" *\$ ")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_SECOND_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?]\)? [A-Z`*]")


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    """The script that writes the generated parts; it is no part of a package."""
    with page_script("reference_pages") as loaded:
        yield loaded


def test_the_generated_pages_are_current(generator: ModuleType) -> None:
    stale = [path.name for path, text in generator.pages() if path.read_text(encoding="utf-8") != text]

    assert not stale, "run `python docs/_ext/reference_pages.py`"


def test_every_setting_stands_in_one_section(generator: ModuleType) -> None:
    part = generator.settings_part()

    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == list(Settings.model_fields)
    assert part.count("\n### ") + 1 == len(generator.SECTIONS)


def test_a_page_without_the_part_to_renew_is_refused(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="no part 'verbs'"):
        generator.renewed("# The command", "verbs", "")


def test_every_key_of_the_older_plugin_has_its_line() -> None:
    rows = _rows(DOCS / "reference" / "configuration.md", "## Coming from")

    assert sorted(row[0].strip("`") for row in rows) == sorted(OLD_KEYS)


def test_the_table_of_old_keys_names_settings_that_exist() -> None:
    rows = _rows(DOCS / "reference" / "configuration.md", "## Coming from")
    named = {setting for row in rows for setting in re.findall(r"`(\w+)`", row[1])}

    assert named
    assert named <= set(Settings.model_fields)


def test_the_table_of_old_keys_says_what_the_conversion_of_settings_does() -> None:
    rows = _rows(DOCS / "reference" / "configuration.md", "## Coming from")
    told = {row[0].strip("`"): re.findall(r"`(\w+)`", row[1]) for row in rows}

    assert {*RENAMED, *DROPPED, "dsn"} == set(told)
    assert [key for key, (name, _) in RENAMED.items() if name not in told[key]] == []


def test_every_error_has_its_line() -> None:
    rows = _rows(DOCS / "reference" / "errors.md", "# Errors")
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.HermesMemoryError)
    }

    assert {row[0].strip("`") for row in rows} == raised - {"HermesMemoryError"}


def test_every_feature_of_the_older_plugins_has_an_answer_and_tests_that_exist() -> None:
    rows = [row for row in _all_rows(DOCS / "reference" / "parity.md") if row[0] != "Feature"]
    named = [(row[0], _NAMED_TEST.findall(row[-1])) for row in rows]
    missing = [f"{file}::{test}" for _, tests in named for file, test in tests if test not in _tests_of(file)]

    assert rows
    assert not [row for row in rows if len(row) != 4 or not all(row)]
    assert not [feature for feature, tests in named if not tests]
    assert not missing


def test_every_verb_and_tool_of_the_older_plugins_is_answered() -> None:
    page = (DOCS / "reference" / "parity.md").read_text(encoding="utf-8")

    assert not [name for name in [*OLD_VERBS, *OLD_TOOLS] if f"`{name}" not in page]


def test_every_module_that_a_rule_is_said_to_live_in_exists() -> None:
    modules = _modules_with_rules()

    assert modules
    assert not [module for module in modules if not _source(module).exists()]


def test_every_module_of_the_domain_is_said_to_hold_a_rule() -> None:
    domain = {f"domain.{module.stem}" for module in _source("domain").glob("*.py") if module.stem != "__init__"}
    missing = sorted(domain - _modules_with_rules())

    assert domain
    assert not missing, "name them under `Where each rule lives` of the architecture page"


@for_each("page", LINKED, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    targets = [target.partition("#")[0] for target in _LINK.findall(_prose(page))]
    local = [target for target in targets if target and "://" not in target]

    assert not [target for target in local if not (page.parent / target).exists()]


@for_each("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_a_line_of_a_page_holds_one_sentence(page: Path) -> None:
    prose = [line for line in _prose(page).splitlines() if not re.match(r"\s*(\||>|[-*] |\d+\. )", line)]

    assert not [line for line in prose if _SECOND_SENTENCE.search(line)]


def test_every_command_line_of_the_documentation_is_one_that_the_command_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [(page.name, arguments) for page in PAGES for arguments in _command_lines(page)]

    assert len(lines) > 50
    assert not [f"{page}: {shlex.join(arguments)}" for page, arguments in lines if not _taken(arguments)], (
        capsys.readouterr().err
    )


def test_the_readme_reads_the_same_on_a_package_index() -> None:
    """There, relative links and pictures lead nowhere: pages are named, by paths that exist."""
    text = _prose(CHECKOUT / "README.md")
    named = re.findall(r"`((?:docs/[\w./-]*|[A-Z]+\.md))`", text)

    assert not [target for target in _LINK.findall(text) if "://" not in target]
    assert named
    assert not [path for path in named if path != "docs/_build/html" and not (CHECKOUT / path).exists()]


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def _command_lines(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of each call of the command in a page's blocks; what follows a prompt, where there is one."""
    for kind, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", "").splitlines():
            prompt = _PROMPT.match(line)
            if prompt or kind not in ("console", "shell-session"):
                yield from _calls(line[prompt.end() :] if prompt else line)


def _calls(line: str) -> Iterator[list[str]]:
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    call: list[str] | None = None
    first = True
    for word in [*words, ";"]:
        if set(word) <= set("();<>|&"):
            if call is not None:
                yield call
            call, first = None, not set(word) & set("<>")
        elif call is not None:
            call.append(word)
        elif first and word.rpartition("/")[2] == "hermes-memory":
            call = []
        else:
            first = word in ("do", "then", "hermes") or bool(re.match(r"\w+=", word))


def _taken(arguments: list[str]) -> bool:
    try:
        command_parser().parse_args(arguments)
    except SystemExit as end:
        return not end.code
    return True


def _rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, its header apart."""
    after = page.read_text(encoding="utf-8").partition(heading)[2]
    lines = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert lines, f"{page.name} has no table after {heading!r}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[0].splitlines()[2:]]


def _modules_with_rules() -> set[str]:
    """Return the modules that the architecture page names in its tables of rules."""
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    part = page.partition("## Where each rule lives")[2].partition("\n## ")[0]
    cells = [line.strip("|").split(" | ")[-1] for line in part.splitlines() if line.startswith("|")]
    return {module for cell in cells for module in re.findall(r"`([a-z0-9_.]+)`", cell) if not module.endswith(".sql")}


def _all_rows(page: Path) -> list[list[str]]:
    """Return the cells of all rows of all tables of a page, headers included, lines below them apart."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if not line.startswith("| ---")]


@lru_cache
def _tests_of(file: str) -> frozenset[str]:
    """Return the names of the tests that a file below `tests/` defines."""
    path = CHECKOUT / "tests" / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module(body=[], type_ignores=[])
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions)


def _source(module: str) -> Path:
    base = CHECKOUT / "src" / "hermes_memory" / module.replace(".", "/")
    return base if base.is_dir() else base.with_suffix(".py")
