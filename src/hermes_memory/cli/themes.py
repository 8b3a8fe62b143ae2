"""`themes`: which themes there are, how much each holds, and which other names lead to it."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_memory.cli.common import administering_options, counted, print_json, settings_for
from hermes_memory.cli.exits import DONE
from hermes_memory.cli.grants import granting

if TYPE_CHECKING:
    from hermes_memory.ports.granting import ThemeCounts


def register(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("themes", help="list the themes, how much each holds, and their aliases")
    administering_options(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Print the themes: numbers over everybody in them, and never a content."""
    aliases = _aliases(given)
    themes: Sequence[ThemeCounts] = granting(given, lambda desk: desk.themes())
    if given.as_json:
        print_json({"themes": [{**_fields(each), "aliases": aliases.get(each.theme, [])} for each in themes]})
        return DONE
    for line in _lines(themes, aliases):
        print(line)
    return DONE


def _aliases(given: argparse.Namespace) -> Mapping[str, list[str]]:
    from hermes_memory.bootstrap.home import identity_policy  # noqa: PLC0415 - the host imports this at every start

    found: defaultdict[str, list[str]] = defaultdict(list)
    for alias, theme in sorted(identity_policy(settings_for(given)).aliases.items()):
        found[theme].append(alias)
    return found


def _fields(each: ThemeCounts) -> dict[str, object]:
    return {name: getattr(each, name) for name in each.__slots__}


def _lines(themes: Sequence[ThemeCounts], aliases: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for each in themes:
        also = f"; also called {', '.join(aliases[each.theme])}" if each.theme in aliases else ""
        kind = "governed, " if each.governed else ""
        sessions = counted(each.sessions, "session")
        yield (
            f"{each.theme:24} {kind}{each.entries:,} entries, {each.turns:,} turns in {sessions}, "
            f"{each.subjects:,} subjects; last written {each.last_seen_at.isoformat(timespec='seconds')}{also}"
        )
    if not themes:
        yield "there is no theme yet: one exists once something was stored under it"
