"""Nothing becomes SQL but literals, and what `statements` has quoted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hermes_memory
from hermes_memory.adapters.postgres.statements import composed, identifier, literal
from hermes_memory.domain.errors import InvalidInput

ADAPTER = Path(hermes_memory.__file__).parent / "adapters" / "postgres"
DOOR = re.compile(
    r"\b(?:Composed|Quoted|shipped_statements)\(|\bcast\(\W*(?:Composed|Quoted|LiteralString|Statement)\b"
)


def test_a_name_cannot_end_its_quotes() -> None:
    role, text = identifier('a"; drop role b; --'), literal("it's {role}")

    made = composed("alter role {role} password {text}", role=role, text=text)

    assert made == "alter role \"a\"\"; drop role b; --\" password 'it''s {role}'"


@pytest.mark.parametrize("quoted", [identifier, literal])
def test_what_no_statement_can_hold_is_refused(quoted: object) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        quoted("a\0b")  # type: ignore[operator]


def test_only_one_module_makes_statements_of_texts() -> None:
    makers = {path.name for path in ADAPTER.glob("*.py") if DOOR.search(path.read_text())}

    assert makers == {"statements.py", "ledger.py"}
