"""Scenarios: what the host's dashboard shows of the memory and saves for it, through its own endpoints."""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
from typing import Any

from hermes_cli import web_server

NAME = "hermes-memory"
Facts = dict[str, Any]


def show(facts: Facts) -> None:
    """Note how the dashboard lists the memory, and the fields of its form."""
    facts["listed"] = next(row for row in web_server._discover_memory_provider_statuses() if row["name"] == NAME)
    form = asyncio.run(web_server.get_memory_provider_config(NAME))
    facts["fields"] = {field["key"]: field for field in form["fields"]}


def save(facts: Facts, forms: list[dict[str, Any]]) -> None:
    """Save one form after the other, and note what the dashboard answers to each."""
    facts["answers"] = []
    for values in forms:
        update = web_server.MemoryProviderConfigUpdate(values=values)
        try:
            facts["answers"].append(asyncio.run(web_server.update_memory_provider_config(NAME, update)))
        except web_server.HTTPException as refused:
            facts["answers"].append({"status": refused.status_code, "detail": refused.detail})
