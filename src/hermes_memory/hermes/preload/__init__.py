"""Puts the plugin beside it into `sys.modules`, complete, before the host's loader can show it half-loaded.

A host without a lock around its loader of memory providers publishes a plugin's module first and executes it
afterwards; a thread that looks in between takes the empty module for the plugin, and its agent goes without memory. The
host executes what lies in `$HERMES_HOME/plugins/model-providers/`, where a copy of this directory is, while it imports
its own configuration module: once, under the import lock, and before its loader exists.

It offers no model. It imports nothing of the library, so it costs the same when another memory is active.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

MODULE = "_hermes_user_memory.hermes-memory"
"""The name under which the host looks for the plugin before it loads it."""


def publish(init: Path) -> None:
    """Execute a plugin and only then show it to other threads. Without the file, or when it is there, do nothing."""
    if MODULE in sys.modules or not init.is_file():
        return
    spec = importlib.util.spec_from_file_location(MODULE, init, submodule_search_locations=[str(init.parent)])
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.setdefault(MODULE, module)


publish(Path(__file__).parent.parent.parent / "hermes-memory" / "__init__.py")
