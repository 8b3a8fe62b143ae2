"""Whether a server answers: a real connection that goes through the start-up exchange and ends politely.

Message formats: PostgreSQL documentation, "Frontend/Backend Protocol", version 3.0.
"""

from __future__ import annotations

import enum
import os
import socket
import struct
import time

from hermes_memory.adapters.embedded_postgres.address import ServerAddress

_PROTOCOL = 3 << 16
_TERMINATE = b"X\x00\x00\x00\x04"
_LONGEST_MESSAGE = 1 << 16
_CANNOT_CONNECT_NOW = b"57P03"


class Answer(enum.Enum):
    """What a server says to a newcomer."""

    READY = "ready"  # it serves, even if all its places are taken
    BUSY = "busy"  # it starts, recovers or shuts down
    SILENT = "silent"  # something holds the socket and does not speak
    ABSENT = "absent"  # nobody listens


def probe(address: ServerAddress, *, timeout: float) -> Answer:
    """Ask the server at an address, waiting at most `timeout` seconds for all of it."""
    end = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.settimeout(timeout)
            connection.connect(os.fspath(address.socket_path))
        except (TimeoutError, BlockingIOError):
            return Answer.SILENT  # the queue of pending connections is full
        except OSError:
            return Answer.ABSENT
        try:
            connection.sendall(_startup_message(address))
            return _read_answer(connection, end)
        except (OSError, EOFError):
            return Answer.SILENT


def _startup_message(address: ServerAddress) -> bytes:
    pairs = ("user", address.superuser, "database", "postgres", "application_name", "hermes_memory_probe")
    body = struct.pack("!i", _PROTOCOL) + b"".join(part.encode() + b"\0" for part in pairs) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _read_answer(connection: socket.socket, end: float) -> Answer:
    while True:
        kind, length = struct.unpack("!ci", _read(connection, 5, end))
        if not 4 <= length <= _LONGEST_MESSAGE:
            return Answer.SILENT
        body = _read(connection, length - 4, end)
        if kind == b"E":
            return Answer.BUSY if b"C" + _CANNOT_CONNECT_NOW in body.split(b"\0") else Answer.READY
        if kind == b"Z":
            connection.sendall(_TERMINATE)
            return Answer.READY


def _read(connection: socket.socket, size: int, end: float) -> bytes:
    received = b""
    while len(received) < size:
        connection.settimeout(max(0.001, end - time.monotonic()))
        part = connection.recv(size - len(received))
        if not part:
            raise EOFError
        received += part
    return received
