"""Fetches the numbers of a memory as Prometheus does."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

SECONDS: Final = 60.0
_COMMAND: Final = Path(sys.executable).with_name("hermes-memory")


def scrape(url: str) -> str:
    """Return what is shown at an address."""
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        text: bytes = answer.read()
    return text.decode()


def samples(exposition: str) -> dict[str, float]:
    """Return the numbers by their names; of a name with labels, the sum over them."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


@contextmanager
def serve_metrics(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `hermes-memory serve-metrics` and yield its address, once it serves, and the process."""
    with subprocess.Popen(
        [str(_COMMAND), "serve-metrics", "--listen", "127.0.0.1:0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            lines: list[str] = []
            while not lines or lines[-1] != "}\n":
                line = process.stdout.readline()
                assert line, process.stderr.read()
                lines.append(line)
            yield json.loads("".join(lines))["url"], process
        finally:
            process.kill()
