"""Loads the scripts that write parts of the documentation. They are no package: they find each other beside them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "_ext"


@contextmanager
def page_script(name: str) -> Iterator[ModuleType]:
    """Hold a script of `docs/_ext` imported for the length of the block."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
        for other in FOLDER.glob("*.py"):
            sys.modules.pop(other.stem, None)
