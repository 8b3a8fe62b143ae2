"""What the readers of files share: the source that holds its items, and how times and places are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Foreign

_SECONDS_END: Final = 100_000_000_000
"""A larger number is a time in milliseconds, and one a thousand times as large in microseconds."""
_THOUSAND: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """`Source` over what was read already: files of this kind are small."""

    name: str
    read: Sequence[Foreign]

    async def counts(self) -> Mapping[str, int]:
        """Return how many items were read."""
        return {"items": len(self.read)}

    async def items(self) -> AsyncIterator[Foreign]:
        """Yield them in their order."""
        for item in self.read:
            yield item


@asynccontextmanager
async def read_source(name: str, read: Sequence[Foreign]) -> AsyncIterator[ReadSource]:
    """Open a source over items that were read."""
    yield ReadSource(name=name, read=read)


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Read a file, whatever its kind, that may be as large as this.

    Raises:
        InvalidInput: It is larger, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = file.read(max_bytes + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({type(error).__name__})") from None
    if len(found) > max_bytes:
        raise InvalidInput(f"{path} is larger than {max_bytes:,} bytes: import it in parts")
    return found


def key_of(*parts: object) -> str:
    """Return what tells an item from every other one of its source."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def time_of(value: Any) -> datetime | None:
    """Read a time as other tools write it: ISO 8601, or a number since 1970; UTC unless it says otherwise.

    Returns:
        None when there is none, or none that can be understood.

    >>> time_of("2024-05-03T10:00:00Z") == time_of(1714730400) == time_of("1714730400000")
    True
    """
    try:
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(value)
        found = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    if found is None:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def time_told(value: Any) -> Any:
    """Return a time as it is kept with what was imported: a number since 1970 would look like one of a telephone.

    >>> time_told("1714730400000"), time_told("last spring")
    ('2024-05-03T10:00:00+00:00', 'last spring')
    """
    found = time_of(value)
    return value if found is None else found.isoformat()


def _since_1970(number: float) -> datetime:
    for _ in range(2):
        if abs(number) >= _SECONDS_END:
            number /= _THOUSAND
    return datetime.fromtimestamp(number, UTC)
