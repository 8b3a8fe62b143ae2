"""Every public call has its type stated in one of the programs that the type checkers read."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from hermes_memory import Memory, SyncMemory, SyncView, View

PROGRAMS = Path(__file__).resolve().parents[1] / "typing"


@pytest.mark.parametrize(
    ("program", "classes"), [("library_use.py", (Memory, View)), ("sync_use.py", (SyncMemory, SyncView))]
)
def test_every_public_call_has_its_type_stated(program: str, classes: tuple[type, ...]) -> None:
    stated = _stated((PROGRAMS / program).read_text(encoding="utf-8"))
    public = {
        name
        for found in classes
        for name, value in vars(found).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    }

    assert public <= stated


def _stated(source: str) -> set[str]:
    """Return the names of the attributes in what `assert_type` is given first."""
    return {
        attribute.attr
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "assert_type"
        for attribute in ast.walk(call.args[0])
        if isinstance(attribute, ast.Attribute)
    }
