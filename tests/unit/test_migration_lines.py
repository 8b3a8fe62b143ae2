"""The text of the migrations, as it ships."""

from __future__ import annotations

from hermes_memory.adapters.postgres.ledger import shipped

WIDEST = 120


def test_no_line_of_a_migration_is_wider_than_those_of_the_code() -> None:
    migrations = shipped()
    wide = [
        f"{migration.name}:{number}"
        for migration in migrations
        for number, line in enumerate(migration.statements.splitlines(), start=1)
        if len(line) > WIDEST
    ]

    assert migrations
    assert not wide
