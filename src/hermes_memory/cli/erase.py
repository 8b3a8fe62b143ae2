"""`erase`: take a person, a theme, a session or an entry out of the memory for good."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from hermes_memory.cli.common import administering_options, print_json, settings_for, subject_named
from hermes_memory.cli.exits import DONE, WORK_REMAINS
from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.erasure import (
    Certificate,
    Erasure,
    WholeSession,
    WholeSubject,
    WholeTheme,
    entry_named,
    session_named,
    theme_named,
)
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.sessions import SessionNames

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.administrator import Administrator
    from hermes_memory.settings import Settings

_GOES_ON: Final = (
    "hermes-memory: what is erased so far is gone; the same command goes on with the rest and prints the certificate"
)


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("erase", help="erase for good; shows what it would do unless told to --execute")
    administering_options(parser)
    parser.add_argument(
        "--subject",
        metavar="KEY",
        help="a person or group: PLATFORM:CONTACT or the host's session key; - reads it from standard input",
    )
    parser.add_argument(
        "--theme", metavar="NAME", help="a whole theme; with --session, the session of that theme alone"
    )
    parser.add_argument("--session", metavar="ID", help="a conversation")
    parser.add_argument("--entry", metavar="ID", help="one durable memory, with its history")
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Print the certificate. 3: it was not told to execute and there is something to erase, or something is left."""
    settings = settings_for(given)
    erasure = _erasure(given, settings)
    certificate = _certificate(settings, erasure, given)
    if given.as_json:
        print_json(certificate)
    else:
        for line in certificate_lines(certificate):
            print(line)
    if certificate.executed:
        return DONE if certificate.complete else WORK_REMAINS
    return WORK_REMAINS if any(certificate.counts.values()) else DONE


def _certificate(settings: Settings, erasure: Erasure, given: argparse.Namespace) -> Certificate:
    from hermes_memory.cli.progress import shown  # noqa: PLC0415 - draws, and the host imports this module at start

    try:
        with shown(given, "erasing" if given.execute else "looking") as progress:
            return anyio.run(_certify, settings, erasure, given.admin_dsn, given.execute, progress.reach)
    except KeyboardInterrupt:
        if given.execute:
            print(_GOES_ON, file=sys.stderr)
        raise


def certificate_lines(certificate: Certificate) -> list[str]:
    """Return a certificate as a person reads it."""
    did = "erased" if certificate.executed else "would erase"
    lines = [f"{did} {certificate.kind} {certificate.name}: {_told(certificate.counts)}"]
    if certificate.executed:
        left = {proof.store: proof.remaining for proof in certificate.proofs if proof.remaining}
        lines.append(f"left afterwards: {_told(left)}")
        lines.append(f"took {certificate.seconds:.1f} s; noted as {certificate.erasure}")
    elif any(certificate.counts.values()):
        lines.append("To do it: the same with --execute. There is no way back.")
    return [*lines, *(f"note: {note}" for note in certificate.notes)]


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing"


def _erasure(given: argparse.Namespace, settings: Settings) -> Erasure:
    named = [name for name in ("subject", "theme", "session", "entry") if getattr(given, name) is not None]
    if len(named) != 1 and set(named) != {"session", "theme"}:
        raise InvalidInput("name one of --subject, --theme, --session and --entry")
    if given.session is not None:
        from hermes_memory.bootstrap.home import installation_secret  # noqa: PLC0415 - the host imports this at start

        names = SessionNames(secret=installation_secret(settings))
        return session_named(given.session, given.theme, names=names)
    if given.theme is not None:
        return theme_named(given.theme)
    if given.entry is not None:
        return entry_named(given.entry)
    return WholeSubject(subject=subject_named(given.subject, settings))


async def _certify(
    settings: Settings, erasure: Erasure, admin_dsn: str | None, execute: bool, progress: Callable[[int], object]
) -> Certificate:
    from hermes_memory.adapters.postgres.erasure import PostgresEraser  # noqa: PLC0415
    from hermes_memory.application.erase import Erasing  # noqa: PLC0415
    from hermes_memory.bootstrap.administration import administered  # noqa: PLC0415
    from hermes_memory.bootstrap.home import utc_now  # noqa: PLC0415
    from hermes_memory.bootstrap.spools import destinations, existing_spool  # noqa: PLC0415

    with ExitStack() as opened:
        names: list[str | None] = [*destinations(settings)] or [None]
        spools = [opened.enter_context(closing(existing_spool(settings, name))) for name in names]
        async with administered(settings, admin_dsn) as administrator:
            erasing = Erasing(
                PostgresEraser(administrator),
                spools,
                set_aside=lambda: sum(len(spool.set_aside()) for spool in spools),
                now=utc_now,
                progress=progress,
            )
            certificate = await (erasing.execute(erasure) if execute else erasing.preview(erasure))
            if any(certificate.counts.values()):
                return certificate
            return replace(certificate, notes=(*await _unknown(administrator, erasure), *certificate.notes))


async def _unknown(administrator: Administrator, erasure: Erasure) -> Sequence[str]:
    """Tell of a theme under which nobody has written yet: it may be misspelt."""
    from hermes_memory.adapters.postgres.granting import PostgresGranting  # noqa: PLC0415
    from hermes_memory.bootstrap.maintaining import UNKNOWN  # noqa: PLC0415

    theme = erasure.theme if isinstance(erasure, WholeTheme | WholeSession) else None
    if theme is None or recognise(theme) is not None:
        return ()
    known = {each.theme for each in await PostgresGranting(administrator).themes()}
    return () if theme in known else (UNKNOWN.format(theme),)
