"""The databases of contract tests: one template for all modules, a copy of it a test."""

from __future__ import annotations

from tests.support.databases import database, template

__all__ = ["database", "template"]
