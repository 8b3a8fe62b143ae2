"""Says who is asking, in the words of SQL: the settings that the wall reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller

READING: Final = ("plan_cache_mode = force_custom_plan", "jit = off")
"""Settings of every reading transaction: each plan is made for its own values, so it never depends on how old the
connection is, and a query of milliseconds is not compiled first."""
WRITING: Final = ("idle_in_transaction_session_timeout = 60000", "jit = off")
"""Settings of every writing transaction: a process that stalls inside one lets go of its locks after a minute."""


def literal(text: str) -> str:
    """Quote a text as an SQL literal. Safe only while `standard_conforming_strings` is on, which the pool checks.

    Raises:
        InvalidInput: The text holds a NUL.

    >>> literal("it's")
    "'it''s'"
    """
    if "\0" in text:
        raise InvalidInput("a name cannot hold a NUL character")
    return "'" + text.replace("'", "''") + "'"


def caller_settings(caller: Caller | None) -> str:
    """Return the statements that make `caller`, or nobody, the one who is asking until the transaction ends.

    Both settings are always made, or a transaction that changes callers would keep the former one's subject.
    """
    theme = literal(caller.theme) if caller else "''"
    subject = caller.subject.hex() if caller and caller.subject else ""
    return f"set local hermes_memory.theme = {theme}; set local hermes_memory.subject = '{subject}'"


def statement_limit(timeout: float) -> str:
    """Return the setting by which the server gives up a statement after so many seconds."""
    return f"statement_timeout = {max(1, int(timeout * 1000))}"


def opening(caller: Caller | None, *, read_only: bool, timeout: float, settings: Iterable[str] = ()) -> str:
    """Return the one message that begins a transaction and says who is asking.

    Args:
        caller: On whose behalf, or None for work that belongs to nobody.
        read_only: Whether the transaction may only read.
        timeout: Seconds after which the server gives up a statement.
        settings: Further `name = value` texts, already safe as SQL.
    """
    access = "read only" if read_only else "read write"
    extra = [*(READING if read_only else WRITING), statement_limit(timeout), *settings]
    return "; ".join(
        [
            f"begin isolation level read committed {access}",
            caller_settings(caller),
            *(f"set local {setting}" for setting in extra),
        ]
    )
