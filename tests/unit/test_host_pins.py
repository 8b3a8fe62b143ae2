"""What the host pins and we need, too: one environment has to hold both."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

PINS: Final = {
    "aiohttp": "3.14.1",
    "asyncpg": "0.31.0",
    "numpy": "2.4.3",
    "pydantic": "2.13.4",
    "python-dotenv": "1.2.2",
    "pyyaml": "6.0.3",
    "rich": "14.3.3",
}
"""Of hermes-agent 0.19.0, those of its extras among them."""


def test_our_requirements_admit_what_the_host_pins() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    needed = [*project["dependencies"], *(each for extra in ("embedded", "quality") for each in optional[extra])]
    ranges = {one.name.lower(): one.specifier for one in map(Requirement, needed)}

    assert ranges.keys() >= PINS.keys()
    assert [f"{name} {ranges[name]}" for name, pin in PINS.items() if pin not in ranges[name]] == []
