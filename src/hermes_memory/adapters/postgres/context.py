"""Says who is asking, in the words of SQL: the settings that the wall reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.statements import Composed, Statement, composed, joined, literal, prefixed
from hermes_memory.domain.model import Caller

READING: Final[tuple[LiteralString, ...]] = ("plan_cache_mode = force_custom_plan", "jit = off")
"""Settings of every reading transaction: each plan is made for its own values, so it never depends on how old the
connection is, and a query of milliseconds is not compiled first."""
WRITING: Final[tuple[LiteralString, ...]] = ("idle_in_transaction_session_timeout = 60000", "jit = off")
"""Settings of every writing transaction: a process that stalls inside one lets go of its locks after a minute."""


def caller_settings(caller: Caller | None) -> Composed:
    """Return the statements that make `caller`, or nobody, the one who is asking until the transaction ends.

    Both settings are always made, or a transaction that changes callers would keep the former one's subject.
    """
    return composed(
        "set local hermes_memory.theme = {theme}; set local hermes_memory.subject = {subject}",
        theme=literal(caller.theme if caller else ""),
        subject=literal(caller.subject.hex() if caller and caller.subject else ""),
    )


def statement_limit(timeout: float) -> Composed:
    """Return the setting by which the server gives up a statement after so many seconds."""
    return composed("statement_timeout = {milliseconds}", milliseconds=max(1, int(timeout * 1000)))


def opening(caller: Caller | None, *, read_only: bool, timeout: float, settings: Iterable[Statement] = ()) -> Composed:
    """Return the one message that begins a transaction and says who is asking.

    Args:
        caller: On whose behalf, or None for work that belongs to nobody.
        read_only: Whether the transaction may only read.
        timeout: Seconds after which the server gives up a statement.
        settings: Further `name = value` texts.
    """
    begin: LiteralString = "begin isolation level read committed " + ("read only" if read_only else "read write")
    extra = [*(READING if read_only else WRITING), statement_limit(timeout), *settings]
    return joined(begin, caller_settings(caller), *map(locally, extra))


def locally(setting: Statement) -> Composed:
    """Return the statement that makes a setting (`name = value`) until the transaction ends."""
    return prefixed("set local ", setting)
