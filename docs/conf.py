"""Builds the documentation: `make docs`."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of

project = "hermes_memory"
author = copyright = "The hermes_memory maintainers"
release = version = version_of("hermes-memory-postgres")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "hermes_memory"
html_static_path = ["_static"]

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# A default is shown as it is written: its value may hold the environment of whoever builds the pages.
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# What has no page here: the standard library, pydantic, and names of the library that are not public.
nitpick_ignore_regex = [
    (r"py:.*", r"(collections|contextlib|datetime|pathlib|typing|uuid|enum|pydantic|pydantic_settings)(\..*)?"),
    (r"py:.*", r"Json|Row|RowId"),
    (r"py:.*", r"hermes_memory\.(adapters|application|bootstrap|domain|ports)\..*"),
]

MADE_BY_THE_LIBRARY = {"hermes_memory.Memory", "hermes_memory.View", "hermes_memory.Settings"}
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)$")
_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")


def _markdown_in_docstrings(*event: object) -> None:
    """Turn the two marks of Markdown that docstrings use, code spans and fenced blocks, into reStructuredText."""
    lines: list[str] = event[-1]  # type: ignore[assignment]  # Sphinx hands in what to change, last
    turned: list[str] = []
    block: re.Match[str] | None = None
    for line in lines:
        if block is None and (block := _FENCE.match(line)):
            turned += [f"{block['indent']}.. code-block:: {block['language']}", ""]
        elif block is not None and line.strip() == "```":
            block = None
            turned.append("")
        else:
            turned.append(f"    {line}" if block is not None else _CODE.sub(r"``\1``", line))
    lines[:] = turned


def _without_constructor(*event: object) -> tuple[str, None] | None:
    """Leave out the arguments of what nobody constructs by hand."""
    return ("", None) if event[2] in MADE_BY_THE_LIBRARY else None


def setup(app: object) -> None:
    """Register the hooks. The first runs before the docstring's sections are read."""
    app.connect("autodoc-process-docstring", _markdown_in_docstrings, priority=100)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", _without_constructor)  # type: ignore[attr-defined]
