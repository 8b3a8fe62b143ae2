"""`grants`: who may read a theme beyond what the read policy says."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from hermes_memory.cli.common import administering_options, days, print_json, settings_for, subject_named, verb_below
from hermes_memory.cli.exits import DONE, ERROR
from hermes_memory.domain.grants import LONGEST, Grant, StandingGrant, end_of
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.domain.themes import claim_or_sink

if TYPE_CHECKING:
    from hermes_memory.ports.granting import Granting

Answer = TypeVar("Answer")
IDLE: Final = {
    ReadPolicy.OPEN: "note: the read policy is 'open', so agents read each other without a grant",
    ReadPolicy.OWN: "note: the read policy is 'own', under which no grant counts",
}


def register(verbs: Any) -> None:
    """Add the verb and those below it."""
    parser = verbs.add_parser("grants", help="say who may read a theme, and until when")
    below = parser.add_subparsers(dest="grants_verb", metavar="VERB", required=True, parser_class=type(parser))
    verb_below(below, "list", _list, "list what was granted to whom", administering_options)
    add = verb_below(below, "add", _add, "let a theme, a person or a group read another theme", administering_options)
    _whom(add)
    add.add_argument("--days", type=days(LONGEST.days), metavar="N", help="how long it holds; default: for ever")
    _whom(verb_below(below, "revoke", _revoke, "take a grant back", administering_options))


def _whom(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="THEME", help="the theme that is read")
    reader = parser.add_mutually_exclusive_group(required=True)
    reader.add_argument("--to", metavar="THEME", help="the theme that reads")
    reader.add_argument(
        "--to-subject",
        metavar="KEY",
        help="the person or group that reads, in whatever theme: PLATFORM:CONTACT or the host's session key; - reads "
        "it from standard input",
    )


def _list(given: argparse.Namespace) -> int:
    """Print the grants."""
    grants, policy = granting(given, _grants_and_policy)
    if given.as_json:
        print_json({"read_policy": policy, "grants": [_plain(each) for each in grants]})
        return DONE
    for line in _lines(grants, policy):
        print(line)
    return DONE


def _add(given: argparse.Namespace) -> int:
    """Let a grant stand."""
    from hermes_memory.bootstrap.home import utc_now  # noqa: PLC0415 - the host imports this at every start

    now = utc_now()
    grant = _grant(given, expires_at=end_of(given.days, now))

    async def work(desk: Granting) -> tuple[bool, ReadPolicy, Sequence[str]]:
        return await desk.add(grant), await desk.policy(), await _unknown(desk, grant)

    is_new, policy, notes = granting(given, work)
    if given.as_json:
        print_json({"granted": True, "new": is_new, "read_policy": policy, "notes": notes, **_key(grant)})
        return DONE
    print(f"{_reader(grant)} may read {grant.source} {_until(grant)}")
    if policy is ReadPolicy.OWN or (policy is ReadPolicy.OPEN and not isinstance(grant.reader, bytes)):
        print(IDLE[policy])
    for note in notes:
        print(f"note: {note}")
    return DONE


async def _unknown(desk: Granting, grant: Grant) -> Sequence[str]:
    """Tell of the themes of a grant under which nobody has written yet: they may be misspelt."""
    from hermes_memory.bootstrap.maintaining import UNKNOWN  # noqa: PLC0415 - the host imports this at every start

    known = {each.theme for each in await desk.themes()}
    named = [name for name in (grant.source, grant.reader) if not isinstance(name, bytes)]
    return [UNKNOWN.format(name) for name in named if name not in known]


def _revoke(given: argparse.Namespace) -> int:
    """Take a grant back. 1: there was none."""
    grant = _grant(given)
    revoked = granting(given, lambda desk: desk.revoke(grant))
    if given.as_json:
        print_json({"revoked": revoked, **_key(grant)})
    else:
        did = "has no grant any more to read" if revoked else "had no grant to read"
        print(f"{_reader(grant)} {did} {grant.source}")
    return DONE if revoked else ERROR


async def _grants_and_policy(desk: Granting) -> tuple[Sequence[StandingGrant], ReadPolicy]:
    return await desk.grants(), await desk.policy()


def granting(given: argparse.Namespace, work: Callable[[Granting], Awaitable[Answer]]) -> Answer:
    """Open the database with the owner's rights, do the work, close it.

    Raises:
        ConfigurationError: The home has a database of an operator's and no login is named, or it is not fit.
        StoreUnavailable: The database cannot be reached.
    """
    settings = settings_for(given)

    async def opened() -> Answer:
        from hermes_memory.adapters.postgres.granting import PostgresGranting  # noqa: PLC0415
        from hermes_memory.bootstrap.administration import administered  # noqa: PLC0415

        async with administered(settings, given.admin_dsn) as administrator:
            return await work(PostgresGranting(administrator))

    return anyio.run(opened)


def _grant(given: argparse.Namespace, *, expires_at: datetime | None = None) -> Grant:
    reader = (
        claim_or_sink(given.to) if given.to_subject is None else subject_named(given.to_subject, settings_for(given))
    )
    return Grant(reader=reader, source=claim_or_sink(given.source), expires_at=expires_at)


def _lines(grants: Sequence[StandingGrant], policy: ReadPolicy) -> Iterator[str]:
    from hermes_memory.bootstrap.home import utc_now  # noqa: PLC0415 - the host imports this at every start

    now = utc_now()
    yield f"read policy {policy}; grants: {len(grants)}"
    for each in grants:
        end = "expired" if each.expired(now) else _until(each.grant)
        yield f"{each.grant.source:24} may be read by {_reader(each.grant)} {end}, granted by {each.granted_by}"


def _reader(grant: Grant) -> str:
    return f"subject {grant.reader.hex()}" if isinstance(grant.reader, bytes) else f"theme {grant.reader}"


def _until(grant: Grant) -> str:
    return f"until {grant.expires_at.isoformat(timespec='seconds')}" if grant.expires_at else "for ever"


def _key(grant: Grant) -> dict[str, object]:
    subject = grant.reader.hex() if isinstance(grant.reader, bytes) else None
    theme = None if subject else grant.reader
    return {"source": grant.source, "reader": theme, "subject": subject, "expires_at": grant.expires_at}


def _plain(each: StandingGrant) -> dict[str, object]:
    return {**_key(each.grant), "granted_at": each.granted_at, "granted_by": each.granted_by}
