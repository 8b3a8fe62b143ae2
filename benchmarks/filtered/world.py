"""A made-up memory of any size: themes from 40 % down to .01 % of it, contacts, and questions near and far.

Vectors lie around the centres of 800 topics, in 48 dimensions that are turned into 512; every theme speaks of 40 of
them. All of it follows from the number of rows, so that no run need keep anything of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]
Keys: TypeAlias = npt.NDArray[np.int64]

DIMENSION: Final = 512
LATENT: Final = 48
TOPICS: Final = 800
TOPICS_A_THEME: Final = 40
SPREAD: Final = 1.0
"""How far rows lie from the centre of their topic, where the centres lie about 1 from the middle."""
NOISE: Final = 0.03
BLOCK: Final = 10_000

NAMED: Final = {
    "40 %": 0.4,
    "20 %": 0.2,
    "10 %": 0.1,
    "5 %": 0.05,
    "2 %": 0.02,
    "1 %": 0.01,
    "0.5 %": 0.005,
    "0.1 %": 0.001,
    "0.01 %": 0.0001,
}
"""The themes that are asked, by the share of all rows that they hold."""
SINK: Final = "whatsapp-dm"
SINK_SHARE: Final = 0.05
CONTACTS: Final = 10
ELSEWHERE_SHARE: Final = 0.01
"""Rows of the first contact in the four biggest themes."""
OTHERS: Final = 60
"""Further themes, which share what is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The rows of one theme with one person, or with nobody.

    Attributes:
        number: Leads the keys of its rows, and is its seed.
        topics: The theme's number, which its topics follow from.
        subject: 32 bytes, or none.
    """

    number: int
    theme: str
    topics: int
    subject: bytes
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some rows of a part: their keys, and their unit vectors, `(n, 512)`."""

    part: Part
    keys: Keys
    vectors: Vectors


def theme_name(share: str) -> str:
    """Return the name of the theme with this share."""
    return f"theme {share.removesuffix(' %')}"


def contact(number: int) -> bytes:
    """Return the subject of a contact."""
    return bytes([number + 1]) * 32


class World:
    """The memory of one size."""

    def __init__(self, rows: int) -> None:
        """Lay out `rows` rows, about."""
        self.rows = rows
        chance = np.random.default_rng(20)
        self._centres = chance.standard_normal((TOPICS, LATENT), dtype=np.float32) / np.float32(np.sqrt(LATENT))
        self._turn = chance.standard_normal((LATENT, DIMENSION), dtype=np.float32) / np.float32(np.sqrt(LATENT))
        self.parts = tuple(_parts(rows))

    def blocks(self) -> Iterator[Block]:
        """Make all rows, some at a time."""
        for part in self.parts:
            for start in range(0, part.rows, BLOCK):
                yield self._block(part, start, min(BLOCK, part.rows - start))

    def more(self, share: float) -> Iterator[Block]:
        """Make rows that were not there before: a share of every part, at least one row."""
        for part in self.parts:
            yield self._block(part, part.rows, max(1, round(part.rows * share)))

    def near(self, topics: int, count: int) -> Vectors:
        """Make questions about what a theme speaks of."""
        return self._around(_topics_of(topics), np.random.default_rng([21, topics]), count)

    def far(self, topics: int, count: int) -> Vectors:
        """Make questions about what it does not speak of, and others do."""
        others = np.setdiff1d(np.arange(TOPICS), _topics_of(topics))
        return self._around(others, np.random.default_rng([22, topics]), count)

    def _block(self, part: Part, start: int, count: int) -> Block:
        chance = np.random.default_rng([23, part.number, start])
        keys = (np.int64(part.number) << 32) + np.arange(start, start + count, dtype=np.int64)
        return Block(part=part, keys=keys, vectors=self._around(_topics_of(part.topics), chance, count))

    def _around(self, topics: npt.NDArray[np.int64], chance: np.random.Generator, count: int) -> Vectors:
        centres = self._centres[chance.choice(topics, count)]
        spread = chance.standard_normal((count, LATENT), dtype=np.float32) * np.float32(SPREAD / np.sqrt(LATENT))
        noise = chance.standard_normal((count, DIMENSION), dtype=np.float32) * np.float32(NOISE)
        vectors = (centres + spread) @ self._turn + noise
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def deleted(keys: Keys, share: float) -> npt.NDArray[np.bool_]:
    """Tell which rows go when a share of all is deleted: evenly spread, and never the first one of a part."""
    every = max(2, round(1 / share))
    return np.asarray((keys & 0xFFFFFFFF) % every == every - 1)


def uuids(keys: Keys) -> npt.NDArray[np.uint8]:
    """Return the ids of rows, `(n, 16)`: spread over all there can be, as those of a library are."""
    spread = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.stack([spread, keys.astype(np.uint64)], axis=1).astype(">u8").view(np.uint8).reshape(-1, 16)


def key_of(row: bytes) -> int:
    """Read the key back from an id."""
    return int.from_bytes(row[8:], "big")


def _topics_of(theme: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng([24, theme]).choice(TOPICS, TOPICS_A_THEME, replace=False)


def _parts(rows: int) -> Iterator[Part]:
    numbers = iter(range(1, 10_000))

    def part(theme: str, topics: int, share: float, subject: bytes = b"") -> Part:
        return Part(number=next(numbers), theme=theme, topics=topics, subject=subject, rows=max(1, round(rows * share)))

    left = 1 - sum(NAMED.values()) - SINK_SHARE - ELSEWHERE_SHARE
    for topics, (share, size) in enumerate(NAMED.items()):
        yield part(theme_name(share), topics, size)
    for number in range(OTHERS):
        yield part(f"other {number}", len(NAMED) + number, left / OTHERS)
    for number in range(CONTACTS):
        share_of_sink = 0.5 if number == 0 else 0.5 / (CONTACTS - 1)
        yield part(SINK, len(NAMED) + OTHERS, SINK_SHARE * share_of_sink, contact(number))
    for topics, share in enumerate(list(NAMED)[:4]):
        yield part(theme_name(share), topics, ELSEWHERE_SHARE / 4, contact(0))
