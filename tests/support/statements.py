"""Finds every statement that the store can send, in the modules of the adapter themselves."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

import pytest

import hermes_memory.adapters.postgres as adapter

_VERB: Final = re.compile(r"\s*(select|insert|update|delete|with|call|merge|truncate|do)\b")
_MIGRATES: Final = ("database", "migrator", "roles", "shipped_functions", "erasure", "archive", "upkeep")
"""Modules, by how their names begin, whose statements migrations, erasures, archives and upkeep send, as the owner."""
_ADMINISTERS: Final = "hermes_memory.adapters.postgres.administrator"


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Give the modules that work for the runtime role, by name: those that work for operators ask as the owner."""
    for found in pkgutil.iter_modules(adapter.__path__):
        if found.ispkg or found.name.startswith(_MIGRATES):
            continue
        module = importlib.import_module(f"{adapter.__name__}.{found.name}")
        if module.__name__ != _ADMINISTERS and f"from {_ADMINISTERS} import" not in inspect.getsource(module):
            yield found.name, module


def constants() -> dict[str, str]:
    """Return every statement that stands whole in a module, by `module.NAME`. Patterns to be filled in are left out."""
    return {
        f"{module}.{name}": value
        for module, found in modules()
        for name, value in vars(found).items()
        if name.isupper() and isinstance(value, str) and _VERB.match(value) and "{" not in value
        if _is_made_in(found, name)
    }


def framed() -> dict[str, tuple[str, str]]:
    """Return every pair of beginning and end between which a condition is put, by `module.NAME`."""
    return {
        f"{module}.{name}": value
        for module, found in modules()
        for name, value in vars(found).items()
        if name.isupper() and isinstance(value, tuple) and len(value) == 2
        if all(isinstance(part, str) for part in value) and _VERB.match(value[0])
    }


def factories() -> dict[Callable[..., str], str]:
    """Return the functions that make statements, with their names as `module.name`."""
    return {
        value: f"{module}.{name}"
        for module, found in modules()
        for name, value in vars(found).items()
        if name.endswith("_statement") and not name.startswith("_") and value.__module__ == found.__name__
    }


@contextmanager
def made() -> Iterator[dict[str, str]]:
    """Note what the functions that make statements make within the block: the name of each by its text.

    A name is that of the function and its arguments.
    """
    names: dict[str, str] = {}
    known = factories()
    with pytest.MonkeyPatch.context() as patch:
        for _, module in modules():
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and value in known:
                    patch.setattr(module, name, _noting(value, known[value], names))
        yield names


def _noting(make: Callable[..., str], name: str, names: dict[str, str]) -> Callable[..., str]:
    def noted(*arguments: object, **options: object) -> str:
        text = make(*arguments, **options)
        names[text] = " ".join([name, *map(str, arguments), *(f"{key}={value}" for key, value in options.items())])
        return text

    return noted


def _is_made_in(module: ModuleType, name: str) -> bool:
    return re.search(rf"^{name}\b[^=\n]*=", inspect.getsource(module), re.MULTILINE) is not None
