"""What an SQLite error means for the spool."""

from __future__ import annotations

import sqlite3
from enum import Enum, auto
from typing import Final, TypeAlias

from hermes_memory.adapters.spool.files import NO_SPACE
from hermes_memory.adapters.spool.row import Damaged, DamagedRow


class Fault(Enum):
    """The kinds of trouble, by what helps."""

    FULL = auto()
    """The disk is full: give space back."""
    DAMAGED = auto()
    """The file is damaged: set it aside."""
    DOUBTFUL = auto()
    """The file may be damaged, or the disk or the code may be at fault: look before it is set aside."""
    ROW = auto()
    """A row is damaged: look at the file, and set the row aside when the rest of it is sound."""
    MOVED = auto()
    """Another process has put a new file in place: open that one."""
    UNAVAILABLE = auto()
    """The file cannot be used for now: try later."""


Trouble: TypeAlias = sqlite3.Error | OSError | Damaged | DamagedRow | UnicodeDecodeError
TROUBLE: Final = (sqlite3.Error, OSError, Damaged, DamagedRow, UnicodeDecodeError)
"""What a piece of work on the file may raise because of the file. SQLite's own messages quote what they find there."""
UNSOUND: Final = (Damaged, sqlite3.DatabaseError, UnicodeDecodeError)
"""What opening a file raises that may be damaged."""

_IOERR_SHMSIZE: Final = 4874
READONLY: Final = 8
_READONLY_DBMOVED: Final = 1032
_BY_EXTENDED_CODE: Final = {
    READONLY: Fault.DOUBTFUL,  # the medium, or a header that bids SQLite not to write
    _IOERR_SHMSIZE: Fault.FULL,
    _READONLY_DBMOVED: Fault.MOVED,
}
_BY_CODE: Final = {
    3: Fault.UNAVAILABLE,  # PERM
    5: Fault.UNAVAILABLE,  # BUSY
    6: Fault.UNAVAILABLE,  # LOCKED
    7: Fault.UNAVAILABLE,  # NOMEM
    READONLY: Fault.UNAVAILABLE,
    9: Fault.UNAVAILABLE,  # INTERRUPT
    11: Fault.DAMAGED,  # CORRUPT
    13: Fault.FULL,
    14: Fault.UNAVAILABLE,  # CANTOPEN
    15: Fault.UNAVAILABLE,  # PROTOCOL
    23: Fault.UNAVAILABLE,  # AUTH
    26: Fault.DAMAGED,  # NOTADB
}
_OTHER_FORMAT: Final = "unsupported file format"
"""What SQLite says of a header that no version of it writes; it has no code of its own."""


def fault_of(error: Trouble) -> Fault:
    """Classify an error that came out of the file, or out of what was read from it."""
    if isinstance(error, OSError):
        return Fault.FULL if error.errno in NO_SPACE else Fault.UNAVAILABLE
    if not isinstance(error, sqlite3.Error):
        return Fault.ROW if isinstance(error, DamagedRow) else Fault.DAMAGED
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(code, int):
        return Fault.DOUBTFUL
    if str(error) == _OTHER_FORMAT:
        return Fault.DAMAGED
    return _BY_EXTENDED_CODE.get(code) or _BY_CODE.get(code & 0xFF, Fault.DOUBTFUL)
