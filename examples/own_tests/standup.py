"""A small agent: it collects what each member of a team says and tells it to the others in the morning."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory import Entry, InvalidInput, View


class Standup:
    """The morning round of one team.

    Args:
        desk: The team's view of the memory. Whose memory it is, is for the caller to say.
    """

    def __init__(self, desk: View) -> None:
        self._desk = desk

    async def report(self, member: str, text: str) -> Entry:
        """Keep what somebody reports.

        Raises:
            ValueError: There is nothing to report.
        """
        try:
            return await self._desk.remember(f"{member}: {text}" if text.strip() else "", metadata={"member": member})
        except InvalidInput as error:
            raise ValueError(f"{member} has nothing to report") from error

    async def blocked(self) -> Sequence[str]:
        """Return who said that something is blocked, in the order of the alphabet."""
        found = await self._desk.recall("blocked", limit=50)
        return sorted({str(hit.row.metadata["member"]) for hit in found.hits})

    async def unblock(self, member: str) -> int:
        """Forget a member's reports; return how many there were."""
        reports = [entry for entry in await self._desk.profile() if entry.metadata.get("member") == member]
        for entry in reports:
            await self._desk.forget(entry.id)
        return len(reports)
