"""Loads a plugin directory the way the Hermes host does and prints, as JSON, what came of it.

It runs as a script in a fresh interpreter, one of the host's perhaps, so it imports nothing but the standard library.
Its one argument is the plugin directory; without it only the import of `hermes_memory` is tried.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

NAMESPACE = "_hermes_user_memory"


class _Collector:
    provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        """Keep the instance, as the host's collector does."""
        self.provider = provider


def probe(directory: Path | None) -> dict[str, Any]:
    """Report which library is found and which provider the directory registers."""
    report: dict[str, Any] = {"executable": sys.executable, "python": list(sys.version_info[:2])}
    report["library"] = _locate("hermes_memory")
    report["provider_module"] = _locate("hermes_memory.hermes.provider")
    if directory is not None:
        report["preloaded"] = _preload(directory)
        provider = _load(directory)
        report["provider"] = f"{type(provider).__module__}.{type(provider).__qualname__}"
        reason = getattr(provider, "unavailable_reason", None)
        report["reason"] = str(reason()) if callable(reason) else ""
    return report


def _locate(name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return spec.origin if spec is not None else None


def _preload(directory: Path) -> bool | None:
    """Execute the preload as the host does at its start; tell whether the plugin is known then, None without one."""
    init = directory.parent / "model-providers" / directory.name / "__init__.py"
    if not init.is_file():
        return None
    _execute("_hermes_user_provider_" + directory.name.replace("-", "_"), init)
    return hasattr(sys.modules.get(f"{NAMESPACE}.{directory.name}"), "register")


def _load(directory: Path) -> Any:
    package = f"{NAMESPACE}.{directory.name}"
    siblings = sorted(path for path in directory.glob("*.py") if path.name != "__init__.py")
    for path in siblings:
        _execute(f"{package}.{path.stem}", path)
    collector = _Collector()
    _execute(package, directory / "__init__.py").register(collector)
    return collector.provider


def _execute(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded as Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    print(json.dumps(probe(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))  # noqa: T201
