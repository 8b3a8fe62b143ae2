"""Verifying the history of a home's database against its seals, what was published of them, and what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_memory.adapters.postgres.history_audit import HALF_DONE, altered_turns, histories, straying
from hermes_memory.adapters.published_heads import published, told
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.bootstrap.administration import administered
from hermes_memory.bootstrap.destination import destination_of
from hermes_memory.bootstrap.home import published_heads_path, state_folder
from hermes_memory.domain.chain import Flaw, Head, verify
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was looked at, and what does not hold.

    Attributes:
        unsealed: Changes that nothing binds yet.
        published: Heads that were compared.
        untold: Memories that stayed when their history was erased.
        half_done: Memories of which an import or an erasure, which began and did not end, has brought in or taken the
            history, or the memory, and not the other one yet.
        other_words: Turns, so many of their theme that it is no flaw, of which other words are made now than when they
            were stored.
    """

    themes: int
    changes: int
    seals: int
    unsealed: int
    published: int
    untold: int
    half_done: int
    other_words: int
    flaws: Sequence[Flaw]


async def verify_history(
    settings: Settings,
    admin_dsn: str | None,
    against: Sequence[Path] | None,
    progress: Callable[[int], object] = lambda _: None,
) -> Verification:
    """Read all changes and seals, hash them anew, compare, and hold what is remembered against what they say.

    Args:
        against: Files of published heads; by default the home's own.
        progress: Told how many changes and turns were looked at, page by page.

    Raises:
        ConfigurationError: A file cannot be read, or the login is not fit.
        StoreUnavailable, SchemaNotApplied: The database cannot be read.
    """
    heads = _heads(settings, against)
    themes = changes = seals = unsealed = untold = half_done = other_words = 0
    flaws: list[Flaw] = []
    known = set()
    async with administered(settings, admin_dsn) as administrator:
        async for theme, links, chain in histories(administrator, progress=progress):
            known.add(theme)
            themes, changes, seals = themes + 1, changes + len(links), seals + len(chain)
            unsealed += sum(link.seal is None for link in links)
            flaws += verify(theme, links, chain, heads)
        async for flaw in straying(administrator):
            if flaw is None:
                untold += 1
            elif flaw.what == HALF_DONE:
                half_done += 1
            else:
                flaws.append(flaw)
        analyze = Analyzer(stem=snowball_stem()).analyze
        async for altered in altered_turns(administrator, analyze, progress=progress):
            if isinstance(altered, int):
                other_words += altered
            else:
                flaws.append(altered)
    for head in heads:
        if head.theme not in known:
            flaws.append(Flaw(theme=head.theme, seal=head.seal, change=None, what="a published seal is missing"))
    return Verification(
        themes=themes,
        changes=changes,
        seals=seals,
        unsealed=unsealed,
        published=len(heads),
        untold=untold,
        half_done=half_done,
        other_words=other_words,
        flaws=flaws,
    )


def _heads(settings: Settings, against: Sequence[Path] | None) -> Sequence[Head]:
    if against is None:
        return told(published_heads_path(state_folder(settings), destination_of(settings)))
    for path in against:
        if not path.exists():
            raise ConfigurationError(f"there is no file {path}")
    return [head for path in against for head in published(path)]
