"""Messages of the Postgres protocol, as somebody between a client and its server meets them.

Their form stands in the chapter "Frontend/Backend Protocol" of the PostgreSQL documentation.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

PROTOCOL: Final = 196_608
CANCEL: Final = 80_877_102
ENCRYPTED: Final = frozenset({80_877_103, 80_877_104})
"""Codes of clients that ask for TLS, or for GSSAPI's encryption."""

_CHUNK: Final = 65_536
_HEAD: Final = 5


class Message(NamedTuple):
    """One message.

    Attributes:
        kind: Its letter.
        whole: All of it, with letter and length.
    """

    kind: bytes
    whole: bytes

    @property
    def body(self) -> bytes:
        """What follows its length."""
        return self.whole[_HEAD:]


class Messages:
    """Cuts what comes in into messages."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._held = bytearray()

    async def more(self) -> list[Message]:
        """Return the next messages that are whole, at least one; none when the other side is gone."""
        while not (found := self._cut()):
            chunk = b""
            with suppress(ConnectionError):
                chunk = await self._reader.read(_CHUNK)
            if not chunk:
                return []
            self._held += chunk
        return found

    def _cut(self) -> list[Message]:
        found: list[Message] = []
        held, at = self._held, 0
        while len(held) - at >= _HEAD:
            end = at + 1 + struct.unpack_from(">I", held, at + 1)[0]
            if end > len(held):
                break
            found.append(Message(bytes(held[at : at + 1]), bytes(held[at:end])))
            at = end
        del held[:at]
        return found


async def greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, bytes]:
    """Return the code and the body of a client's first message. Encryption is denied to whoever asks for it first.

    Raises:
        asyncio.IncompleteReadError, ConnectionError: It is gone before it has said anything.
    """
    while True:
        length, code = struct.unpack(">II", await reader.readexactly(8))
        body = await reader.readexactly(length - 8)
        if code not in ENCRYPTED:
            return code, body
        writer.write(b"N")


def parameters(body: bytes) -> Mapping[str, str]:
    """Return what a client's first message says about it: names and values, each ended by a zero."""
    fields = [field.decode() for field in body.split(b"\0")]
    return {name: value for name, value in zip(fields[::2], fields[1::2], strict=False) if name}


def message(kind: bytes, body: bytes) -> bytes:
    """Make a message."""
    return kind + struct.pack(">I", len(body) + 4) + body


def first_message(code: int, body: bytes) -> bytes:
    """Make the first message of a client, which has a code and no letter."""
    return struct.pack(">II", len(body) + 8, code) + body


def login(role: str, database: str) -> bytes:
    """Make the first message of a client that wants to be a role in a database."""
    return first_message(PROTOCOL, b"".join(f"{text}\0".encode() for text in ("user", role, "database", database, "")))


def refusal(text: str) -> bytes:
    """Make the message of a server that refuses a connection because of what the client said."""
    return message(b"E", b"".join(field.encode() + b"\0" for field in ("SFATAL", "VFATAL", "C08P01", f"M{text}", "")))
