"""`subjects`: which people and groups there are, and which of them are one person."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hermes_memory.cli.common import (
    FROM_INPUT,
    administering_options,
    counted,
    print_json,
    settings_for,
    verb_below,
)
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.cli.grants import granting
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.model import Subject
from hermes_memory.domain.subject_keys import named_by_key, subject_of_key

if TYPE_CHECKING:
    from hermes_memory.ports.granting import Granting, SubjectCounts

KEYS: Final = (
    "PLATFORM:CONTACT, the host's session key, or a subject's 64 hexadecimal digits; - reads keys from standard input, "
    "one a line"
)

UNTOLD: Final = (
    "warning: a subject's digits do not tell a person from a group: whoever is in a group reads what is each one's"
)


def register(verbs: Any) -> None:
    """Add the verb and those below it."""
    parser = verbs.add_parser("subjects", help="say which people and groups there are, and which are one person")
    below = parser.add_subparsers(dest="subjects_verb", metavar="VERB", required=True, parser_class=type(parser))
    verb_below(
        below,
        "list",
        _list,
        "list the subjects, how much each has, and who is the same person",
        administering_options,
    )
    merge = verb_below(
        below,
        "merge",
        _merge,
        "let subjects be one person; shows what it would do unless told to --execute",
        administering_options,
    )
    _keys(merge)
    merge.add_argument("--execute", action="store_true", help="do it")
    _keys(verb_below(below, "split", _split, "take a subject out of its person again", administering_options))
    rekey = verb_below(
        below,
        "rekey",
        _rekey,
        "after a new secret: let each person be one with who it was under the old; shows what it would do unless told "
        "to --execute",
        administering_options,
    )
    _keys(rekey)
    before = rekey.add_mutually_exclusive_group(required=True)
    before.add_argument("--old-secret", type=Path, metavar="FILE", help="the secret file of the home, as it was before")
    before.add_argument(
        "--old-setting", type=Path, metavar="FILE", help="a file with what HERMES_MEMORY_SUBJECT_SECRET was before"
    )
    rekey.add_argument("--execute", action="store_true", help="do it")


def _keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="+", help=KEYS)


def _list(given: argparse.Namespace) -> int:
    """Print the subjects."""
    found: Sequence[SubjectCounts] = granting(given, lambda desk: desk.subjects())
    if given.as_json:
        print_json({"subjects": [_plain(each) for each in found]})
        return DONE
    for line in map(_line, found):
        print(line)
    return DONE


def _merge(given: argparse.Namespace) -> int:
    """Let subjects be one person. 3: it was not told to."""
    secret = _secret(given)
    named = [named_by_key(secret, key) for key in _given(given)]
    kinds = {each.kind for each in named}
    if len(kinds - {None}) > 1:
        raise InvalidInput(
            "a group and a person cannot be one: everybody in the group would read the person's messages", field="key"
        )
    if None in kinds:
        print(UNTOLD, file=sys.stderr)
    return _joined(given, [tuple(each.subject for each in named)])


def _rekey(given: argparse.Namespace) -> int:
    """Let who somebody is now be one with who it was before. 3: it was not told to."""
    before, now = _old_secret(given), _secret(given)
    if before == now:
        raise InvalidInput("the old secret is the one in use: put the new one in place first", field="old_secret")
    keys = list(_given(given))
    if any(subject_of_key(before, key) == subject_of_key(now, key) for key in keys):
        raise InvalidInput("a subject's digits are the same under any secret: give the keys themselves", field="key")
    return _joined(given, [(subject_of_key(before, key), subject_of_key(now, key)) for key in keys])


def _split(given: argparse.Namespace) -> int:
    """Take subjects out of their persons. 1: each was alone already."""
    subjects = _subjects(given, _secret(given))

    async def work(desk: Granting) -> list[bool]:
        return [await desk.split(subject) for subject in subjects]

    apart = granting(given, work)
    if given.as_json:
        print_json({"subjects": [{"subject": s, "was_merged": was} for s, was in zip(subjects, apart, strict=True)]})
    else:
        for subject, was in zip(subjects, apart, strict=True):
            print(f"{subject.hex()} {'reads its own alone now' if was else 'was one with nobody'}")
    return DONE if any(apart) else ERROR


def _joined(given: argparse.Namespace, groups: Sequence[tuple[Subject, ...]]) -> int:
    if any(len(set(group)) < 2 for group in groups):
        raise InvalidInput("name two or more different people or groups", field="key")

    async def work(desk: Granting) -> list[Sequence[SubjectCounts]]:
        if given.execute:
            for group in groups:
                await desk.merge(group)
        return [await desk.subjects(group) for group in groups]

    persons = granting(given, work)
    if given.as_json:
        print_json({"executed": given.execute, "persons": [[_plain(each) for each in person] for person in persons]})
        return DONE if given.execute else WORK_REMAINS
    for person in persons:
        print("one person now, who reads what is each one's:" if given.execute else "would be one person:")
        for each in person:
            print(f"  {_line(each)}")
    if not given.execute:
        print("To do it: the same with --execute. `subjects split` takes it back.")
    return DONE if given.execute else WORK_REMAINS


def _subjects(given: argparse.Namespace, secret: bytes) -> list[Subject]:
    return [subject_of_key(secret, key) for key in _given(given)]


def _given(given: argparse.Namespace) -> Iterator[str]:
    """Yield the keys, which are personal data: no message holds one."""
    for key in given.key:
        if key == FROM_INPUT:
            yield from (line for line in sys.stdin.read().splitlines() if line.strip())
        else:
            yield key


def _secret(given: argparse.Namespace) -> bytes:
    from hermes_memory.bootstrap.home import installation_secret  # noqa: PLC0415 - the host imports this at every start

    return installation_secret(settings_for(given))


def _old_secret(given: argparse.Namespace) -> bytes:
    """Return the secret that subjects were made with before."""
    from hermes_memory.adapters.secret_file import read_secret  # noqa: PLC0415 - the host imports this at every start
    from hermes_memory.bootstrap.home import secret_of_setting  # noqa: PLC0415

    if given.old_secret is not None:
        return read_secret(given.old_secret)
    try:
        return secret_of_setting(given.old_setting.read_text(encoding="utf-8").rstrip("\r\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the old setting cannot be read from {given.old_setting}") from error


def _line(each: SubjectCounts) -> str:
    also = f"; the same person as {', '.join(sorted(s.hex()[:16] + '...' for s in each.also))}" if each.also else ""
    themes = counted(each.themes, "theme")
    return f"{each.subject.hex()} {each.entries:,} entries and {each.turns:,} turns in {themes}{also}"


def _plain(each: SubjectCounts) -> dict[str, object]:
    numbers = {"entries": each.entries, "turns": each.turns, "themes": each.themes}
    return {"subject": each.subject, **numbers, "also": sorted(each.also)}
