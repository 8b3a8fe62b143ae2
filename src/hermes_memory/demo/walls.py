"""Attempts to see or change what is somebody else's. Each must fail, and says how it did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.demo.asking import NOTEBOOK_KEEPER
from hermes_memory.demo.cast import Figure
from hermes_memory.demo.report import Guarded
from hermes_memory.demo.script import KEPT_BY_SALES
from hermes_memory.demo.witness import Witness
from hermes_memory.domain.errors import HermesMemoryError, InvalidInput, NotVisible
from hermes_memory.domain.model import DIRECT_MESSAGES, SINKS, Row, RowId

ALARM_CODE: Final = "7294"
APPOINTMENT: Final = "knee scan"
DATABASE_PASSWORD: Final = "kaltes-Wasser"  # noqa: S105 - a made-up one, which the log of a session holds
CONTACT_KEYS: Final = ("700155501", "15550142")
_MANY: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The walls of an open memory, ready to be tried."""

    memory: Memory
    cast: Mapping[str, Figure]
    witness: Witness

    async def tried(self) -> AsyncIterator[Guarded]:
        """Try them all."""
        yield await self._other_contact()
        yield await self._other_contact_everywhere()
        yield await self._agent_everywhere()
        yield await self._sink_as_scope()
        yield self._sink_as_theme()
        yield await self._by_id()
        yield await self._own_scope()
        yield await self._foreign_change()
        yield await self._contact_keys()
        yield await self._secret()

    async def _other_contact(self) -> Guarded:
        hits = await self._rows("whatsapp", "What is the alarm code of the workshop?", "current")
        own = self.cast["whatsapp"].subject
        leaks = [row for row in hits if row.subject != own or ALARM_CODE in row.content]
        return Guarded(
            who=self._title("whatsapp"),
            attempt="asks for the alarm code that the workshop lead confided.",
            outcome=f"{len(hits)} rows, each of this person's own; the code is not among them."
            if not leaks
            else f"{len(leaks)} rows of somebody else came back.",
            held=not leaks,
        )

    async def _other_contact_everywhere(self) -> Guarded:
        hits = await self._rows("telegram", "When is the bookkeeper at the hospital?", "all")
        own = self.cast["telegram"].subject
        leaks = [row for row in hits if row.subject not in {None, own} or APPOINTMENT in row.content]
        return Guarded(
            who=self._title("telegram"),
            attempt="asks everywhere (scope all) when the bookkeeper is at the hospital.",
            outcome="Not a row of the other conversation." if not leaks else f"{len(leaks)} private rows came back.",
            held=not leaks,
        )

    async def _agent_everywhere(self) -> Guarded:
        hits = await self._rows("marketing", "alarm code, hospital appointment", "all")
        leaks = [row for row in hits if row.theme in SINKS or row.subject is not None]
        return Guarded(
            who=self._title("marketing"),
            attempt="asks everywhere (scope all) for alarm code and appointment.",
            outcome=f"{len(hits)} rows of themes {_themes(hits)}; none of a direct message."
            if not leaks
            else f"{len(leaks)} private rows came back.",
            held=not leaks,
        )

    async def _sink_as_scope(self) -> Guarded:
        return await self._refused(
            "marketing",
            f"names the sink of all direct messages (scope {DIRECT_MESSAGES}).",
            NotVisible,
            lambda: self._desk("marketing").recall("alarm code", scope=DIRECT_MESSAGES),
        )

    def _sink_as_theme(self) -> Guarded:
        attempt = f"asks to be served as '{DIRECT_MESSAGES}'."
        try:
            self.memory.view(DIRECT_MESSAGES)
        except InvalidInput as error:
            return Guarded(who="A stranger", attempt=attempt, outcome=f"Refused: {error}.", held=True)
        return Guarded(who="A stranger", attempt=attempt, outcome="It was served.", held=False)

    async def _by_id(self) -> Guarded:
        found = await self._rows("telegram", "What is the alarm code?", "current")
        secrets = [row.id for row in found if ALARM_CODE in row.content]
        attempt = "has got hold of the id of the row with the code, and asks for it."
        if not secrets:
            return self._unproven("whatsapp", attempt)
        return await self._refused("whatsapp", attempt, NotVisible, lambda: self._desk("whatsapp").get(secrets[0]))

    async def _own_scope(self) -> Guarded:
        question = "Wie viel Rabatt bekommt das Hotel Seeblick?"
        alone = await self._rows("operations", question, "current")
        named = await self._rows("operations", question, self.cast[NOTEBOOK_KEEPER].theme)
        stays = all(row.theme == self.cast["operations"].theme for row in alone)
        finds = any("12 Prozent" in row.content for row in named)
        return Guarded(
            who=self._title("operations"),
            attempt="asks for the hotel's discount.",
            outcome="Unasked it sees its own theme only; when it names the theme marketing it gets the answer, because "
            "ordinary themes may read each other unless the installation says otherwise."
            if stays and finds
            else f"own theme only: {stays}; found when named: {finds}.",
            held=stays and finds,
        )

    async def _foreign_change(self) -> Guarded:
        kept = await self._kept_by_sales()
        attempt = "may read what sales kept, and tries to make it forgotten."
        if not kept:
            return self._unproven("operations", attempt)
        tried = await self._refused("operations", attempt, NotVisible, lambda: self._desk("operations").forget(kept[0]))
        stays = kept == await self._kept_by_sales()
        return tried if stays else replace(tried, outcome="It is gone.", held=False)

    async def _kept_by_sales(self) -> list[RowId]:
        entries = await self._desk("sales").profile(target="memory", limit=1000)
        return [entry.id for entry in entries if entry.content == KEPT_BY_SALES]

    async def _contact_keys(self) -> Guarded:
        rows = sum([await self.witness.holding(key) for key in CONTACT_KEYS])
        looked = await self.witness.holding("Bookkeeper")
        return Guarded(
            who="Whoever reads the tables",
            attempt="looks for the contacts' telephone number and chat id.",
            outcome=f"{rows} rows hold them: only keyed hashes are stored.",
            held=rows == 0 and looked > 0,
        )

    async def _secret(self) -> Guarded:
        rows = await self.witness.holding(DATABASE_PASSWORD)
        marks = await self.witness.holding("[redacted:")
        return Guarded(
            who="Whoever reads the tables",
            attempt="looks for the database password that a session's log showed.",
            outcome=f"{rows} rows hold it: a mark was stored in its place.",
            held=rows == 0 and marks > 0,
        )

    async def _rows(self, who: str, question: str, scope: str) -> list[Row]:
        result = await self._desk(who).recall(question, limit=_MANY, scope=scope)
        return [hit.row for hit in result.hits]

    async def _refused(
        self, who: str, attempt: str, expected: type[HermesMemoryError], act: Callable[[], Awaitable[object]]
    ) -> Guarded:
        try:
            await act()
        except expected as error:
            return Guarded(who=self._title(who), attempt=attempt, outcome=f"Refused: {error}.", held=True)
        return Guarded(who=self._title(who), attempt=attempt, outcome="It was let in.", held=False)

    def _unproven(self, who: str, attempt: str) -> Guarded:
        outcome = "There was nothing to guard, so nothing is proven."
        return Guarded(who=self._title(who), attempt=attempt, outcome=outcome, held=False)

    def _desk(self, who: str) -> View:
        return self.memory.view_of(self.cast[who].caller("walls"))

    def _title(self, who: str) -> str:
        title = self.cast[who].title
        return title[0].upper() + title[1:]


def _themes(rows: list[Row]) -> str:
    return " and ".join(sorted({row.theme for row in rows})) or "none"
