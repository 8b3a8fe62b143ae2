"""What imports what: no module needs itself, not even within a function or for its types alone, and the core nobody."""

from __future__ import annotations

import sys
from graphlib import TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("hermes_memory", include_external_packages=True, cache_dir=None)


def test_no_module_imports_itself_by_way_of_others(graph: grimp.ImportGraph) -> None:
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()


def test_domain_and_ports_import_the_standard_library_alone(graph: grimp.ImportGraph) -> None:
    core = {
        module
        for package in ("hermes_memory.domain", "hermes_memory.ports")
        for module in (package, *graph.find_descendants(package))
    }
    imported = {name for module in core for name in graph.find_modules_directly_imported_by(module)}

    assert len(core) > 50
    assert imported - core - sys.stdlib_module_names == set()
