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
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# What has no page here: the standard library, pydantic, and names of the library that are not public.
nitpick_ignore_regex = [
    (r"py:.*", r"(collections|contextlib|datetime|pathlib|typing|uuid|enum|pydantic|pydantic_settings)(\..*)?"),
    (r"py:.*", r"hermes_memory\.(adapters|application|bootstrap|domain|ports)\..*"),
]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)$")
_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")


def _markdown_in_docstrings(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn the two marks of Markdown that docstrings use, code spans and fenced blocks, into reStructuredText."""
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


def setup(app: object) -> None:
    """Register the hook. It runs before the docstring's sections are read."""
    app.connect("autodoc-process-docstring", _markdown_in_docstrings, priority=100)  # type: ignore[attr-defined]
