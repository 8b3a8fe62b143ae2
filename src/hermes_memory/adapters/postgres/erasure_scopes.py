"""Which rows an erasure is about, table by table, as conditions on a row `t`.

$1 is what the erasure names, of a person all subjects, of a session all its names; $2 a theme or null; of one entry,
the other memories whose history tells its texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString, TypeAlias, assert_never
from uuid import UUID

from hermes_memory.domain.erasure import Erasure, OneEntry, WholeSession, WholeSubject, WholeTheme

Values: TypeAlias = tuple[object, str | Sequence[UUID] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions on the rows of each table; `false` where there are none.

    Attributes:
        rows: On entries.
        turns: On turns, which come in the order of their sessions.
        changes: On history. Whatever it is about, what tells of erasures stays.
        whole: Whether index, operations and vectors can go wholesale, by `place`, since all rows there go.
        place: On tables that know theme and subject and no session.
    """

    rows: LiteralString
    turns: LiteralString
    sessions: LiteralString
    delegations: LiteralString
    changes: LiteralString
    links: LiteralString
    grants: LiteralString
    members: LiteralString
    themes: LiteralString
    place: LiteralString
    whole: bool

    def fill(self, statement: LiteralString) -> LiteralString:
        """Put the conditions into a statement that has them as `{rows}`, `{turns}` and so on."""
        return (
            statement.replace("{rows}", self.rows)
            .replace("{turns}", self.turns)
            .replace("{sessions}", self.sessions)
            .replace("{delegations}", self.delegations)
            .replace("{changes}", self.changes)
            .replace("{links}", self.links)
            .replace("{grants}", self.grants)
            .replace("{members}", self.members)
            .replace("{themes}", self.themes)
            .replace("{place}", self.place)
        )


_SUBJECT: Final[LiteralString] = "t.subject = any ($1::bytea[]) and $2::text is null"
_THEME: Final[LiteralString] = "t.agent_identity = $1 and $2::text is null"
_SESSION: Final[LiteralString] = "t.session_id = any ($1::text[]) and ($2::text is null or t.agent_identity = $2)"
_NEVER: Final[LiteralString] = "$1::text is null and $2::text is null"
_NO_SESSION: Final[LiteralString] = "$1::text[] is null and $2::text is null"
_NO_SUBJECT: Final[LiteralString] = "$1::bytea[] is null and $2::text is null"
_NO_ENTRY: Final[LiteralString] = "$1::uuid is null and $2::uuid[] is null"

OF_SUBJECT: Final = Conditions(
    rows=_SUBJECT,
    turns=_SUBJECT,
    sessions=_SUBJECT,
    delegations=_SUBJECT,
    changes=_SUBJECT,
    links=_NO_SUBJECT,
    grants=_SUBJECT,
    members=_SUBJECT,
    themes=_NO_SUBJECT,
    place=_SUBJECT,
    whole=True,
)
# What another theme asked of this one and was answered names it, and holds what was said in it.
OF_THEME: Final = Conditions(
    rows=_THEME,
    turns=_THEME,
    sessions=_THEME,
    delegations="(t.agent_identity = $1 or t.child_identity = $1) and $2::text is null",
    changes=_THEME,
    links=_NEVER,
    grants="(t.reader = $1 or t.source = $1) and $2::text is null",
    members=_NEVER,
    themes=_THEME,
    place=_THEME,
    whole=True,
)
# An entry that was changed in the session and elsewhere since stays; all of its history goes, for the change that came
# next tells what was said before it.
OF_SESSION: Final = Conditions(
    rows=_SESSION,
    turns=_SESSION,
    sessions=_SESSION,
    delegations="""((t.parent_session_id = any ($1::text[]) and ($2::text is null or t.agent_identity = $2))
       or (t.child_session_id = any ($1::text[])
           and ($2::text is null or $2 in (t.agent_identity, t.child_identity))))""",
    changes="""($2::text is null or t.agent_identity = $2)
      and exists (select from hermes_memory.history o
                   where o.agent_identity = t.agent_identity and o.row_id = t.row_id
                     and o.session_id = any ($1::text[]))""",
    links="t.parent_session_id = any ($1::text[]) and ($2::text is null or t.agent_identity = $2)",
    grants=_NO_SESSION,
    members=_NO_SESSION,
    themes=_NO_SESSION,
    place=_NO_SESSION,
    whole=False,
)
# What was forgotten and brought back has two ids, and what was merged tells the text of the one that stayed: from their
# history an undo would bring the text back.
OF_ENTRY: Final = Conditions(
    rows="t.id = $1 and $2::uuid[] is not null",
    turns=_NO_ENTRY,
    sessions=_NO_ENTRY,
    delegations=_NO_ENTRY,
    changes="(t.row_id = $1 or t.row_id = any ($2::uuid[]))",
    links=_NO_ENTRY,
    grants=_NO_ENTRY,
    members=_NO_ENTRY,
    themes=_NO_ENTRY,
    place=_NO_ENTRY,
    whole=False,
)


def conditions(erasure: Erasure, telling: Sequence[UUID] = ()) -> tuple[Conditions, Values]:
    """Return the conditions of an erasure, and the values they speak of.

    Args:
        telling: The other memories whose history tells the texts of the one entry.
    """
    match erasure:
        case WholeSubject():
            return OF_SUBJECT, (sorted(map(bytes, erasure.subjects)), None)
        case WholeTheme():
            return OF_THEME, (erasure.theme, None)
        case WholeSession():
            return OF_SESSION, (sorted(erasure.names), erasure.theme)
        case OneEntry():
            return OF_ENTRY, (erasure.row, list(telling))
        case _:
            assert_never(erasure)
