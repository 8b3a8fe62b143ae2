"""`spool`: see what waits for the database and what it refused, and do something about it.

Nothing here connects to anything: the verbs work while agents run and while the database is down.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hermes_memory.application import spool_desk
from hermes_memory.application.spool_desk import Standing
from hermes_memory.cli.common import (
    MOST,
    counted,
    first_of,
    home_option,
    json_option,
    print_json,
    settings_for,
    verb_below,
    whole_number,
)
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.cli.places import force_option, require_place
from hermes_memory.cli.spool_lines import item_line, status_lines

if TYPE_CHECKING:
    from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool

DEFAULT_LIMIT: Final = 50
ADVICE: Final = "To keep a copy first: hermes-memory spool export FILE. To drop them: the same with --execute."


def register(verbs: Any) -> None:
    """Add the verb and those below it."""
    parser = verbs.add_parser("spool", help="see and settle what waits for the database, and what it refused")
    below = parser.add_subparsers(dest="spool_verb", metavar="VERB", required=True, parser_class=type(parser))
    verb_below(below, "status", _status, "tell how much waits, how much is dead, and who delivers", _spool_options)
    listing = verb_below(below, "list", _list, "list what waits and what is dead, without its content", _spool_options)
    _state_option(listing)
    listing.add_argument(
        "--limit",
        type=whole_number(1, MOST),
        default=DEFAULT_LIMIT,
        metavar="N",
        help="most to show; default: %(default)s",
    )
    listing.add_argument(
        "--after", type=whole_number(0, MOST), default=0, metavar="N", help="go on after this number in line"
    )
    listing.add_argument("--content", action="store_true", help="show the texts, without credentials")
    retry = verb_below(below, "retry", _retry, "put dead letters back in line, in their old places", _spool_options)
    retry.add_argument("id", nargs="*", help="only these; default: all that can be delivered")
    export = verb_below(
        below, "export", _export, "write everything to a new private file, a JSON object a line", _spool_options
    )
    _state_option(export)
    force_option(export)
    export.add_argument("file", type=Path, help="the file to write; one that is there is replaced with --force alone")
    purge = verb_below(
        below,
        "purge",
        _purge,
        "drop dead letters for good; shows what it would do unless told to --execute",
        _spool_options,
    )
    purge.add_argument("id", nargs="*", help="only these, waiting or dead; default: all dead letters")
    purge.add_argument("--waiting", action="store_true", help="drop what waits as well")
    purge.add_argument("--set-aside", action="store_true", help="remove the damaged files beside the spool as well")
    purge.add_argument("--execute", action="store_true", help="do it")


def _spool_options(parser: argparse.ArgumentParser) -> None:
    home_option(parser)
    json_option(parser)
    parser.add_argument(
        "--destination", metavar="NAME", help="the spool for another database, as `spool status` names it"
    )


def _state_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=[standing.value for standing in Standing], help="only these; default: all")


def _standing(given: argparse.Namespace) -> Standing | None:
    return Standing(given.state) if given.state else None


@contextmanager
def _opened(given: argparse.Namespace) -> Iterator[SqliteSpool]:
    # The host imports this module at every start of its command line, so what reads files is loaded only now.
    from hermes_memory.bootstrap.spools import existing_spool  # noqa: PLC0415

    with closing(existing_spool(settings_for(given), given.destination)) as spool:
        yield spool


def _status(given: argparse.Namespace) -> int:
    """Show one spool whole and the others of the home in short. 1: it cannot be read; 3: something waits or is dead."""
    from hermes_memory.bootstrap.spools import other_reports, report  # noqa: PLC0415

    settings = settings_for(given)
    shown = report(settings, given.destination)
    others = [other for other in other_reports(settings) if other.destination != shown.destination]
    if given.as_json:
        print_json({"spool": shown, "others": others})
    else:
        for line in status_lines(shown, others):
            print(line)
    if shown.problem:
        return ERROR
    remains = any(one.status and (one.status.depth or one.status.dead) for one in (shown, *others))
    return WORK_REMAINS if remains else DONE


def _list(given: argparse.Namespace) -> int:
    """List operations in the order of acceptance."""
    with _opened(given) as spool:
        found = list(islice(spool_desk.walk(spool, after=given.after, standing=_standing(given)), given.limit + 1))
    shown, more = found[: given.limit], len(found) > given.limit
    items = [spool_desk.facts_of(kept, content=given.content) for kept in shown]
    if given.as_json:
        print_json({"items": items, "more": more})
        return DONE
    for item in items:
        print(item_line(item))
    if more:
        print(f"more: --after {shown[-1].sequence}")
    elif not items:
        print("nothing")
    return DONE


def _retry(given: argparse.Namespace) -> int:
    """Put dead letters back in line. 1: not all that were named are dead letters that can be delivered."""
    ids = spool_desk.named(given.id)
    with _opened(given) as spool:
        strange = spool_desk.strange(spool, ids, standing=Standing.DEAD)
        retried = spool.retry_dead(ids or None)
        left = spool.status().dead
    if given.as_json:
        print_json({"retried": retried, "dead": left, "unknown": strange})
    else:
        print(f"{retried} back in line, {counted(left, 'dead letter')} left")
        for line in first_of([f"no dead letter of this spool: {one}" for one in strange]):
            print(line)
    if ids and retried < len(set(ids)):
        return ERROR
    return WORK_REMAINS if left and not ids else DONE


def _export(given: argparse.Namespace) -> int:
    """Write operations to a new file. They stay in the spool."""
    from hermes_memory.bootstrap.spools import write_new  # noqa: PLC0415

    with _opened(given) as spool:
        # An earlier export may be the only copy of what was purged after it.
        require_place(given.file, force=given.force)
        lines = spool_desk.export_lines(spool, standing=_standing(given))
        written = write_new(given.file, lines, replace=given.force)
    if given.as_json:
        print_json({"file": given.file, "exported": written})
    else:
        print(f"{written} written to {given.file}; it holds what was said: keep it as private as the spool")
    return DONE


def _purge(given: argparse.Namespace) -> int:
    """Drop operations undelivered. 1: not all that were named are there; 3: it was not told to execute."""
    ids = spool_desk.named(given.id)
    with _opened(given) as spool:
        strange = spool_desk.strange(spool, ids)
        doomed = spool_desk.doomed(spool, ids, waiting=given.waiting)
        files = spool.set_aside() if given.set_aside else []
        dead_only = not ids and not given.waiting
        purged = spool_desk.drop(spool, doomed, dead_only=dead_only) if given.execute else 0
        removed = spool.remove_set_aside() if given.execute and files else 0
    if given.as_json:
        print_json(
            {
                "executed": given.execute,
                "found": len(doomed),
                "purged": purged,
                "files": [file.name for file in files],
                "files_removed": removed,
                "unknown": strange,
            }
        )
    else:
        _tell_purge(len(doomed), purged, len(files), executed=given.execute)
        for line in first_of([f"not in this spool: {one}" for one in strange]):
            print(line)
    if ids and len(doomed) < len(set(ids)):
        return ERROR
    return WORK_REMAINS if (doomed or files) and not given.execute else DONE


def _tell_purge(found: int, purged: int, files: int, *, executed: bool) -> None:
    beside = f" and {counted(files, 'damaged file')}" if files else ""
    if executed:
        print(f"{counted(purged, 'write')}{beside} dropped for good")
    elif found or files:
        print(f"would drop {counted(found, 'write')}{beside} for good, undelivered. {ADVICE}")
    else:
        print("nothing to drop")
