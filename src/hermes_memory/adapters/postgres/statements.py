"""What may be run as SQL: literals, and literals with names and whole numbers put into them where no parameter can be.

The type checker proves it for each statement of the owner's and of the runtime role's: modules are handed connections
and transactions that take nothing else.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, LiteralString, NewType, Protocol, TypeAlias

from hermes_memory.domain.errors import InvalidInput

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.cursor import CursorFactory

    Record: TypeAlias = asyncpg.Record

Quoted = NewType("Quoted", str)
"""A name or a text in the form in which SQL takes it as one; made here alone."""
Composed = NewType("Composed", str)
"""A literal statement with quoted parts, or what the package ships; made here alone."""
Statement: TypeAlias = LiteralString | Composed


def composed(statement: LiteralString, **parts: Quoted | int) -> Composed:
    """Put quoted names and whole numbers into a statement that takes no parameters, such as those that make tables.

    Example:
        >>> composed("create role {role} connection limit {most}", role=identifier("app"), most=5)
        'create role "app" connection limit 5'
    """
    return Composed(statement.format(**parts))


def joined(*statements: Statement) -> Composed:
    """Return statements as one message. It takes no parameters."""
    return Composed("; ".join(statements))


def prefixed(beginning: LiteralString, rest: Statement) -> Composed:
    """Return a statement that begins with a literal and goes on with what may be run as SQL."""
    return Composed(beginning + rest)


def identifier(name: str) -> Quoted:
    """Quote a name as an SQL identifier.

    Raises:
        InvalidInput: The name is empty or holds a NUL.
    """
    if not name or "\0" in name:
        raise InvalidInput("the name of a role cannot be empty or hold a NUL character", field="runtime_role")
    return Quoted('"' + name.replace('"', '""') + '"')


def literal(text: str) -> Quoted:
    """Quote a text as an SQL literal. Safe only while `standard_conforming_strings` is on, which the pool checks.

    Raises:
        InvalidInput: The text holds a NUL.

    >>> literal("it's")
    "'it''s'"
    """
    if "\0" in text:
        raise InvalidInput("a name cannot hold a NUL character")
    return Quoted("'" + text.replace("'", "''") + "'")


def shipped_statements(text: str) -> Composed:
    """Return the statements of a file of this package, which are as trustworthy as its code."""
    return Composed(text)


class Connection(Protocol):
    """A connection of the driver that takes what may be run as SQL, and nothing else."""

    async def execute(self, query: Statement, /, *arguments: object, timeout: float | None = None) -> str:
        """Run a statement whose rows do not matter, or several without arguments."""
        ...

    async def fetch(self, query: Statement, /, *arguments: object, timeout: float | None = None) -> list[Record]:
        """Run a statement and return its rows."""
        ...

    async def fetchrow(self, query: Statement, /, *arguments: object, timeout: float | None = None) -> Record | None:
        """Run a statement and return its first row, None when there is none."""
        ...

    async def fetchval(self, query: Statement, /, *arguments: object, timeout: float | None = None) -> Any:
        """Run a statement and return the first value of its first row, None when there is none."""
        ...

    def cursor(self, query: Statement, /, *arguments: object, prefetch: int | None = None) -> CursorFactory[Record]:
        """Run a statement and hand out its rows by and by, within a transaction."""
        ...

    def transaction(self, *, isolation: Any = None, readonly: bool = False) -> AbstractAsyncContextManager[Any]:
        """Open a transaction, or a savepoint within one."""
        ...
