"""Reconciling: stored copies of the host's notebooks follow the files, whatever the host did not tell."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from hermes_memory.application.mirror import Mirror
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.domain.model import Caller, Target
from hermes_memory.ports.reading import Reader

logger = logging.getLogger(__name__)

WRITES_AT_ONCE: Final = 50


class Reconciler:
    """Compares a home's notebooks with their stored copies. Belongs to the event loop."""

    def __init__(self, mirror: Mirror, reader: Reader, spool: SpoolAccess) -> None:
        self._mirror = mirror
        self._reader = reader
        self._spool = spool

    async def reconcile(self, caller: Caller, *, timeout: float) -> int:
        """Bring the caller's stored copies in step with the files; return how many writes that took.

        The copies are read before the file: what is missing from a file read later was taken out of it.

        Raises:
            StoreUnavailable: The database cannot be reached; nothing was accepted.
            DeadlineExceeded: It did not answer in `timeout` seconds; nothing was accepted.
            SchemaNotApplied: It has no schema, or an older one; nothing was accepted.
            SpoolFull: The spool has reached its bound; what came before was accepted.
        """
        home = self._mirror.home
        stored = await self._reader.mirrored(caller, home, timeout=timeout)
        written = await self._spool.call(self._mirror.written)
        contents = [(target, text) for target, texts in written.items() for text in texts]
        private = (
            await self._reader.private_copies(home, contents, timeout=timeout)
            if contents and caller.subject is None
            else frozenset()
        )
        if private:
            # The copy may be forgotten or erased. The line in the file remains theirs.
            await self._spool.call(partial(self._mirror.keep_out, private))
        done: set[tuple[Target, str]] = set()
        accept = partial(self._mirror.accept_differences, caller, stored, private, done=done, most=WRITES_AT_ONCE)
        # In parts: the spool's thread has more to do, and what the host tells meanwhile waits for each of them.
        while await self._spool.call(accept) == WRITES_AT_ONCE:
            pass
        if done:
            logger.info("notebooks reconciled", extra={"action": "mirror.reconciled", "writes": len(done)})
        return len(done)
