"""What the documentation says and shows of the schema is what the catalogue of a migrated database says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.page_scripts import FOLDER, page_script
from tests.support.postgres_store import Installation

PAGE = FOLDER.parent / "reference" / "schema.md"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with page_script("schema_picture") as loaded:
        yield loaded


async def test_the_picture_shows_the_tables_as_they_are(script: ModuleType, database: Installation) -> None:
    tables = await script.tables_of(database.admin_dsn)
    committed = Path(script.PICTURE).read_text(encoding="utf-8")

    assert script.drawn(tables) == committed, "run `python docs/_ext/schema_picture.py`"


async def test_every_table_is_told_of(script: ModuleType, database: Installation) -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = await script.tables_of(database.admin_dsn)

    assert not [name for name in tables if f"`{name}`" not in page]


async def test_a_reference_to_what_does_not_exist_is_an_error(script: ModuleType, database: Installation) -> None:
    tables = await script.tables_of(database.admin_dsn)
    without = {name: columns for name, columns in tables.items() if name != "seals"}
    maimed = tables | {"history": tuple(column for column in tables["history"] if column.name != "seal")}

    with pytest.raises(ValueError, match="seals"):
        script.drawn(without)
    with pytest.raises(ValueError, match="history has no column seal"):
        script.drawn(maimed)
