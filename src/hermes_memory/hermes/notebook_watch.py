"""Noticing that the home's notebooks changed, and having the stored copies follow."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Final

from hermes_memory.adapters.notebook_files import NotebookFiles
from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.model import HomeId
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding

READY_SECONDS: Final = 600.0
RECONCILE_SECONDS: Final = 30.0

_unserved: Final[dict[Path, NotebookFiles]] = {}


def note_unserved(home: Path) -> None:
    """Note that somebody's session is in a home whose memory could not be started. It may be told of again.

    The host writes the notebooks all the same. No hook tells when such a session ends, so it is there until the process
    does.
    """
    _unserved.setdefault(home, NotebookFiles(home, identity=HomeId(""))).subject_comes()


class NotebookWatch:
    """Looks at the notebooks for one provider. Looking is cheap: any thread may do it before every turn."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._seen = ""

    def look(self, binding: Binding) -> None:
        """Reconcile in the background if the notebooks changed since the last look for this theme.

        It comes before whatever the session's agent can write, and notes whether that is somebody's session.
        """
        if binding.caller.subject is not None:
            self._runtime.local.mirror.subject_comes()
        if not binding.writes or not self._runtime.settings.reconcile_files:
            return
        mark = f"{binding.caller.theme}|{self._runtime.local.mirror.fingerprint()}"
        if mark == self._seen:
            return
        self._seen = mark
        callers = {binding.caller, binding.files_caller}
        # The work may wait long for a database; it must not keep alive the agent that it was started for.
        watch = weakref.ref(self)

        async def work(memory: Memory) -> None:
            try:
                await memory.ready(timeout=READY_SECONDS)
                for caller in callers:
                    await memory.reconcile(caller, timeout=RECONCILE_SECONDS)
            except HermesMemoryError:
                if (found := watch()) is not None:
                    found.forget()
                raise

        self._runtime.loop.spawn(work, action="mirror.reconcile")

    def forget(self) -> None:
        """Take the next look for a change."""
        self._seen = ""
