"""Maintaining the memory of a home, with an operator's rights on its database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Final, assert_never

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.granting import PostgresGranting
from hermes_memory.adapters.postgres.upkeep import Job, PostgresUpkeep
from hermes_memory.adapters.postgres.upkeep_backfilling import Backfilling
from hermes_memory.adapters.postgres.upkeep_cleaning import Cleaning
from hermes_memory.adapters.postgres.upkeep_pruning import Pruning
from hermes_memory.adapters.postgres.upkeep_remapping import Remapping
from hermes_memory.application.maintaining import Maintaining
from hermes_memory.application.spool_desk import walk
from hermes_memory.application.worker import call_aside
from hermes_memory.bootstrap.administration import administered
from hermes_memory.bootstrap.home import identity_policy, installation_secret, utc_now
from hermes_memory.bootstrap.spools import existing_spool
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.identity import HostIdentity, resolve
from hermes_memory.domain.maintenance import Backfill, Chore, Cleanup, Prune, Remap, Report
from hermes_memory.domain.model import DEFAULT_THEME, Subject, Theme
from hermes_memory.settings import Settings

UNKNOWN: Final = "there is no theme {!r}: `hermes-memory themes` lists them"
WAITING: Final = (
    "nothing was moved: {} writes for {!r} wait in this home's spool, and a change among them would miss what had "
    "moved: let them be delivered first (`hermes-memory spool status`)"
)
ARRIVING: Final = (
    "agents that still go by {0!r} go on writing there until they are renamed, or `identity_aliases` maps {0!r} to "
    "{1!r}: run it again afterwards, it moves what came in"
)
GRANTS_STAY: Final = (
    "{} grants name {!r} and stay as they are, since {!r} has memories or grants of its own, and what they open would "
    "be more: --with-grants carries them over"
)
OPENED: Final = (
    "{} grants have {!r} as their source: whoever they name reads everything that comes there from {!r}, but what is "
    "kept to a person or group (`hermes-memory grants list`)"
)
ON_TARGET: Final = "grants_on_to"
SEALED: Final = (
    "what was sealed of {!r} stays proven under its old seals; its changes are sealed anew with those of {!r}"
)


async def maintain(
    settings: Settings,
    admin_dsn: str | None,
    chore: Chore,
    *,
    execute: bool,
    progress: Callable[[int], object] = lambda _: None,
    expect: Callable[[int], object] = lambda _: None,
) -> Report:
    """Carry out a piece of maintenance, or tell what it would do.

    Args:
        admin_dsn: Address with a login that may act as the owner. The embedded database needs none.
        execute: Whether to do it.
        progress: Told how many rows each step changed.
        expect: Told how many there are to change, before any is.

    Raises:
        ConfigurationError: The login is not fit.
        InvalidInput: A theme cannot be moved to.
        StoreUnavailable, SchemaNotApplied: The database does not serve.
    """
    if isinstance(chore, Remap):
        require_reachable(settings, chore.target)
    async with administered(settings, admin_dsn) as administrator:
        job = _job(chore)
        upkeep = PostgresUpkeep(administrator, job)
        work = Maintaining(upkeep, verb=job.verb, detail=job.detail, progress=progress, expect=expect)
        notes = await _notes(administrator, chore)
        waiting = await call_aside(lambda: _waiting(settings, chore.source)) if isinstance(chore, Remap) else 0
        if waiting and isinstance(chore, Remap):
            return await work.preview([WAITING.format(waiting, chore.source), *notes])
        opened = await _opened(administrator, chore)
        report = await (work.execute(notes) if execute else work.preview(notes))
        return replace(report, detail={**report.detail, **opened})


def require_reachable(settings: Settings, theme: Theme) -> None:
    """Require that an agent of this name would come to have this theme.

    Raises:
        InvalidInput: The name leads elsewhere: it is an alias, not allowed, a benchmark's, or the key of somebody.
        ConfigurationError: The settings of the home cannot be used.
    """
    told = HostIdentity(agent_identity=theme)
    found = resolve(told, identity_policy(settings), installation_secret(settings))
    if theme not in {DEFAULT_THEME, found.theme}:
        raise InvalidInput(
            f"no agent could have a theme of that name: by this home's settings it has the theme {found.theme!r} "
            f"({found.reason.value})",
            field="to",
        )


def _job(chore: Chore) -> Job:
    match chore:
        case Prune():
            return Pruning(chore)
        case Cleanup():
            return Cleaning(chore)
        case Remap():
            return Remapping(chore)
        case Backfill():
            return Backfilling(chore)
        case _:
            assert_never(chore)


async def _notes(administrator: Administrator, chore: Chore) -> list[str]:
    """Say what the operator has to know besides."""
    granting = PostgresGranting(administrator)
    if isinstance(chore, Prune) and chore.theme is not None:
        known = {each.theme for each in await granting.themes()}
        return [] if chore.theme in known else [UNKNOWN.format(chore.theme)]
    if not isinstance(chore, Remap):
        return []
    themes = {each.theme for each in await granting.themes()}
    grants = [each.grant for each in await granting.grants()]
    notes = [] if chore.source in themes else [UNKNOWN.format(chore.source)]
    named = [grant for grant in grants if chore.source in {grant.reader, grant.source}]
    taken: set[Theme | Subject] = {*themes, *(name for grant in grants for name in (grant.reader, grant.source))}
    if named and chore.target in taken and not chore.grants:
        notes.append(GRANTS_STAY.format(len(named), chore.source, chore.target))
    if opened := (await _opened(administrator, chore))[ON_TARGET]:
        notes.append(OPENED.format(opened, chore.target, chore.source))
    notes.append(ARRIVING.format(chore.source, chore.target))
    return [*notes, SEALED.format(chore.source, chore.target)] if chore.source in themes else notes


async def _opened(administrator: Administrator, chore: Chore) -> dict[str, int]:
    """Count the grants that hold on the theme that is moved to, and open what is moved there."""
    if not isinstance(chore, Remap):
        return {}
    now = utc_now()
    standing = await PostgresGranting(administrator).grants()
    return {ON_TARGET: sum(each.grant.source == chore.target and not each.expired(now) for each in standing)}


def _waiting(settings: Settings, theme: Theme) -> int:
    """Count the writes for a theme that this home has not delivered yet, dead letters not among them."""
    with closing(existing_spool(settings)) as spool:
        return sum(
            kept.operation is not None and kept.buried_at is None and kept.operation.stamp.caller.theme == theme
            for kept in walk(spool)
        )
