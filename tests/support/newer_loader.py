"""Loads a memory provider from an entry point the way newer hosts do, of which no release can be installed.

Such a host does not call `EntryPoint.load()` for a package: it finds the package's directory without importing it,
executes every sibling file and then `__init__.py` by path under a name of its own, and binds the siblings onto the
package. It holds a lock meanwhile and keeps what was registered even when `register` raises afterwards.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import threading
from collections import defaultdict
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

GROUP = "hermes_agent.memory_providers"
_NAMESPACE = "_hermes_user_memory"
_locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)


class PluginContext:
    """Collects what a plugin registers; other registrations are noted, as the real context would take them."""

    def __init__(self) -> None:
        self.provider: Any = None
        self.others: list[str] = []

    def register_memory_provider(self, provider: Any) -> None:
        """Keep the instance."""
        self.provider = provider

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("register_"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: self.others.append(name)


def provider_directory(entry_point: EntryPoint) -> Path | None:
    """Return the package directory an entry point names, without importing it, or None for a plain module."""
    spec = importlib.util.find_spec(entry_point.module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(entry_point.module)
    origin = Path(spec.origin)
    return origin.parent if origin.name == "__init__.py" else None


def load_from_entry_point(name: str) -> Any:
    """Load the provider registered under a name by an installed distribution."""
    (entry_point,) = entry_points(group=GROUP, name=name)
    return load(entry_point)


def load(entry_point: EntryPoint) -> Any:
    """Load the provider an entry point names: a `register` function, a class or a factory."""
    directory = provider_directory(entry_point)
    if directory is None:
        return _instance(entry_point.load())
    with _locks[str(directory)]:
        module = _execute_package(directory)
    return _instance(getattr(module, entry_point.attr))


def _instance(target: Any) -> Any:
    if isinstance(target, type) or not inspect.signature(target).parameters:
        return target()
    context = PluginContext()
    try:
        target(context)
    except Exception:
        if context.provider is None:
            raise
    return context.provider


def _execute_package(directory: Path) -> ModuleType:
    digest = hashlib.sha256(str(directory).encode()).hexdigest()[:16]
    name = f"{_NAMESPACE}.{directory.name}__source_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    if _NAMESPACE not in sys.modules:
        shell = ModuleType(_NAMESPACE)
        shell.__path__ = []
        sys.modules[_NAMESPACE] = shell
    package = _module(name, directory / "__init__.py", package=True)
    siblings = {}
    for path in sorted(directory.glob("*.py")):
        if path.name != "__init__.py":
            siblings[path.stem] = _module(f"{name}.{path.stem}", path)
            _execute(siblings[path.stem])
    _execute(package)
    for stem, module in siblings.items():
        setattr(package, stem, module)
    return package


def _module(name: str, path: Path, *, package: bool = False) -> ModuleType:
    locations = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=locations)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return module


def _execute(module: ModuleType) -> None:
    assert module.__spec__
    assert module.__spec__.loader
    module.__spec__.loader.exec_module(module)
