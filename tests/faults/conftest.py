"""The databases of fault tests: one template a module, a copy of it a test."""

from __future__ import annotations

from tests.support.databases import database, server, template

__all__ = ["database", "server", "template"]
