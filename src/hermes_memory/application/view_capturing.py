"""What is said in a conversation, kept as it goes by: accepted at once, stored in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hermes_memory.application.accept import Said
from hermes_memory.application.arguments import parse_role
from hermes_memory.application.view_standpoint import Standpoint
from hermes_memory.domain.model import OperationId, Role


class Capturing(Standpoint):
    """Accepts turns, and waits for no database."""

    async def capture(
        self, *, user: str, assistant: str, metadata: Mapping[str, object] | None = None
    ) -> OperationId | None:
        """Accept one exchange durably and return at once; it is stored in the background.

        Returns:
            The id of the accepted write, None when neither half is worth keeping.

        Raises:
            InvalidInput: The view has no session, or a half is too large.
            SpoolFull: Too many writes wait for the database.
            StoreUnavailable: The local spool cannot be used for now.
        """
        said = [
            Said(role=Role.USER, content=user, metadata=metadata),
            Said(role=Role.ASSISTANT, content=assistant, metadata=metadata),
        ]
        return await self._capture(said, filtered=True)

    async def capture_turn(
        self,
        content: str,
        *,
        role: str = "user",
        speaker: str | None = None,
        at: datetime | None = None,
        occurrence: int = 0,
        metadata: Mapping[str, object] | None = None,
    ) -> OperationId | None:
        """Accept one message durably and return at once; nothing but empty text is left out.

        Args:
            role: `user`, `assistant`, `system` or `tool`.
            speaker: Name of who said it. The key of a contact in it, as a telephone number, is left out.
            at: When it was said; now by default. A naive time counts as UTC.
            occurrence: Which one it is of several equal messages of this role in the session, from 0. Handing in the
                same message with the same number again stores nothing.

        Raises:
            InvalidInput: The view has no session, the role is unknown or the message is too large.
            SpoolFull: Too many writes wait for the database.
            StoreUnavailable: The local spool cannot be used for now.
        """
        said = Said(
            role=parse_role(role), content=content, speaker=speaker, at=at, occurrence=occurrence, metadata=metadata
        )
        return await self._capture([said], filtered=False)

    async def _capture(self, said: Sequence[Said], *, filtered: bool) -> OperationId | None:
        operation = await self._services.spool.call(
            lambda: self._services.acceptor.turns(self.caller, said, filtered=filtered)
        )
        return operation.stamp.operation if operation else None
