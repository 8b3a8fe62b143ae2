"""Reading the body of an HTTP answer without trusting its size or its packing."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from aiohttp import ClientResponse

from hermes_memory.domain.errors import EmbeddingRejected

_CHUNK: Final = 64 * 1024
_BYTES_PER_NUMBER: Final = 40
"""A double with its sign, 17 digits, exponent, comma and the indentation of a pretty printer."""
_ENVELOPE: Final = 64 * 1024
_LARGEST_DIMENSION: Final = 4_000
_AUTOMATIC: Final = 32 + zlib.MAX_WBITS
"""zlib's window setting that recognises gzip and zlib by their headers."""


def body_limit(count: int) -> int:
    """Return the most bytes that an answer of `count` vectors may take.

    Computed from the largest dimension there may be rather than from the configured one: a model with another
    dimension than configured deserves the message that says so.
    """
    return _ENVELOPE + count * _LARGEST_DIMENSION * _BYTES_PER_NUMBER


async def read_json(response: ClientResponse, limit: int) -> Any:
    """Read at most `limit` bytes, unpacked, and parse them. The session must not unpack by itself.

    Raises:
        EmbeddingRejected: The body is larger, packed in an unknown or broken way, or not JSON.
    """
    try:
        return json.loads(await _read(response, limit))
    except (ValueError, RecursionError):
        # The cause would carry the body, and some endpoints repeat in it what they were sent.
        raise EmbeddingRejected("the embedder's answer is not JSON") from None


async def _read(response: ClientResponse, limit: int) -> bytes:
    unpack = _unpacker(response.headers.get("Content-Encoding", "identity").strip().lower())
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk if unpack is None else _unpacked(unpack, chunk, limit + 1 - len(body))
        if len(body) > limit:
            raise EmbeddingRejected(f"the embedder's answer is larger than {limit:,} bytes")
    return bytes(body)


def _unpacker(encoding: str) -> zlib._Decompress | None:
    if encoding in {"", "identity"}:
        return None
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return zlib.decompressobj(wbits=_AUTOMATIC)
    raise EmbeddingRejected("the embedder's answer is packed in a way that was not asked for")


def _unpacked(unpack: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    """Unpack no more than `room` bytes; what does not fit is never produced."""
    try:
        return unpack.decompress(chunk, room)
    except zlib.error:
        raise EmbeddingRejected("the embedder's answer is packed in a broken way") from None
