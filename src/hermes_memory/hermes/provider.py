"""The Hermes memory provider: every hook of the host's contract, each safe, quick and short.

The hooks translate and delegate; what they do is in the modules beside this one. Nothing raises into the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.identity import HostIdentity, contact_keys
from hermes_memory.hermes.authors import author_of
from hermes_memory.hermes.bindings import binding_of, home_of
from hermes_memory.hermes.config_schema import PROVIDER_NAME
from hermes_memory.hermes.guard import never_raises, nothing
from hermes_memory.hermes.host import recall_status
from hermes_memory.hermes.host_values import holds_text, text_or_none
from hermes_memory.hermes.notebook_watch import note_unserved
from hermes_memory.hermes.prompt import UNAVAILABLE_BLOCK, prompt_block
from hermes_memory.hermes.runtime_share import RuntimeShare
from hermes_memory.hermes.sessions import Binding, SessionBook
from hermes_memory.hermes.setup_hooks import SetupHooks
from hermes_memory.hermes.told_writes import Action, ToldWrite
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.hermes.tools import error_json
from hermes_memory.settings import default_home

NOT_STARTED: Final = "the memory could not be started; the log says why"


class HermesMemoryProvider(SetupHooks):
    """A provider instance is a cheap handle: the runtime behind it is shared by all agents of a home."""

    def __init__(self) -> None:
        super().__init__()
        self._share = RuntimeShare()
        self._sessions = SessionBook()
        self._unserved: Path | None = None

    # --- life

    @never_raises(nothing)
    def initialize(self, session_id: str, **facts: Any) -> None:
        """Bind a session to its identity and make sure the home's runtime is there. Waits for no connection."""
        try:
            binding = binding_of(self._share.take(home_of(facts)), facts)
        except BaseException as error:
            self._problem = str(error) if isinstance(error, HermesMemoryError) else NOT_STARTED
            # Whoever this session is with, it is not the one before.
            self._sessions.leave(session_id)
            if contact_keys(HostIdentity.from_host(facts)):
                self._unserved = home_of(facts) or default_home()
                note_unserved(self._unserved)
            raise
        self._problem = None
        self._unserved = None
        self._sessions.bind(session_id, binding)
        self._reconcile()

    @never_raises(nothing)
    def shutdown(self) -> None:
        """Deliver for a bounded time and let go of the runtime. What is not delivered waits in the spool.

        The host may still call after this: writes are accepted then too, and nothing is started for them.
        """
        self._share.let_go()

    # --- a turn

    @never_raises(str)
    def system_prompt_block(self) -> str:
        """Return the lines about the memory in the system prompt: the same ones in the same state of the memory."""
        if self._problem:
            return UNAVAILABLE_BLOCK
        runtime = self._share.live()
        memory = runtime.loop.memory if runtime else None
        return prompt_block(memory.troubles if memory else ())

    @never_raises(nothing)
    def on_turn_start(self, turn_number: int = 0, message: str = "", **facts: Any) -> None:
        """Note edits of the notebooks that the host does not tell of, who says this, and whether it is an agent."""
        binding, capture = self._sessions.find(), self._share.capture
        if binding is not None and capture is not None:
            author = author_of(binding, {part: facts.get(f"author_{part}") for part in ("id", "name", "is_bot")})
            capture.meet(binding, author)
            if author.is_agent:
                capture.said_by_agent(binding, message)
        self._reconcile()

    @never_raises(str)
    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return the memories that bear on this message, as a fenced block, within the configured time."""
        binding, runtime = self._sessions.find(session_id), self._share.live()
        if binding is None or runtime is None or self._share.ambient is None or not holds_text(query):
            return ""
        return self._share.ambient.block(binding, query)

    @never_raises(nothing)
    def recall_status(self) -> Any:
        """Return what the last recall brought, in the host's own type; None for a host that has none."""
        if self._share.ambient is None or not self._share.ambient.shown:
            return None
        return recall_status(PROVIDER_NAME, self._share.ambient.shown)

    @never_raises(nothing)
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Make the block for a message ahead of it, in the background."""
        binding, runtime = self._sessions.find(session_id), self._share.live()
        if binding is not None and runtime is not None and self._share.ambient is not None and holds_text(query):
            self._share.ambient.prepare(binding, query)

    @never_raises(nothing, accepts=True)
    def sync_turn(
        self,
        user_content: object,
        assistant_content: object,
        *,
        session_id: str = "",
        messages: object = None,
        turn_author: Mapping[str, Any] | None = None,
        **facts: Any,
    ) -> None:
        """Capture a completed exchange."""
        binding = self._sessions.find(session_id)
        if binding is None or not binding.writes or self._share.writable() is None or self._share.capture is None:
            return
        author = author_of(binding, turn_author)
        self._share.capture.exchange(binding, user_content, assistant_content, messages=messages, author=author)

    # --- the session

    @never_raises(nothing, accepts=True)
    def on_session_end(self, messages: object = None) -> None:
        """Capture what of the transcript was not captured turn by turn."""
        self._capture_transcript(messages)

    @never_raises(str, accepts=True)
    def on_pre_compress(self, messages: object = None, **facts: Any) -> str:
        """Capture the transcript before the host discards parts of it. Adds nothing to the compressor's input."""
        try:
            self._capture_transcript(messages)
        finally:
            self._sessions.window_begins_anew()
        return ""

    @never_raises(nothing)
    def on_session_switch(
        self,
        new_session_id: str = "",
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        reason: str = "",
        **facts: Any,
    ) -> None:
        """Go on in another session under the same identity."""
        fresh = bool(reset) or bool(rewound) or reason in ("compression", "new_session")
        self._sessions.switch(new_session_id, parent=parent_session_id, fresh=fresh)

    @never_raises(nothing, accepts=True)
    def on_delegation(
        self, task: object = "", result: object = "", *, child_session_id: str = "", **facts: Any
    ) -> None:
        """Note that a task was handed to a child agent and what came back."""
        binding, local = self._sessions.find(), self._share.writable()
        if binding is None or local is None or not binding.writes:
            return
        local.acceptor.delegation(
            binding.caller,
            task=task,
            result=result,
            child_session=binding.named(child_session_id),
            child_theme=None,
        )

    # --- the host's notebooks and the tools

    @never_raises(nothing, accepts=True)
    def on_memory_write(
        self,
        action: str = "",
        target: str = "memory",
        content: object = "",
        metadata: Mapping[str, Any] | None = None,
        **facts: Any,
    ) -> None:
        """Mirror a write of the host's own memory tool."""
        known = {**(metadata if isinstance(metadata, Mapping) else {}), **facts}
        binding = self._sessions.find(text_or_none(known.get("session_id")) or "")
        local = self._share.writable()
        told = ToldWrite.from_host(action, target, content, known) if local else None
        if local is None or told is None:
            return
        if binding is not None and binding.writes:
            told.accept(local.mirror, binding.caller)
            if told.action is not Action.ADD:
                self._reconcile(binding)
        elif binding is None or binding.caller.subject is not None:
            told.leave_out(local.mirror)

    def handle_tool_call(self, tool_name: str, args: Any = None, **facts: Any) -> str:
        """Carry out a memory tool and return JSON. Errors are answers that say what to do."""
        answer = never_raises(lambda: error_json("the memory met an unexpected error", retry=False))(self._answer)
        return answer(tool_name, args)

    def _answer(self, tool_name: str, args: Any) -> str:
        binding, runtime = self._sessions.find(), self._share.live()
        if binding is None or runtime is None:
            return error_json(self._problem or "the memory is not running in this session", retry=False)
        return ToolCalls(runtime).answer(binding, tool_name, args)

    # --- inside

    def _capture_transcript(self, messages: object) -> None:
        binding = self._sessions.find()
        if binding is None or not binding.writes or self._share.writable() is None or self._share.capture is None:
            return
        self._share.capture.transcript(binding, messages)

    def _reconcile(self, binding: Binding | None = None) -> None:
        if self._unserved is not None:
            note_unserved(self._unserved)
        bound = binding or self._sessions.find()
        if bound is not None and self._share.live() is not None and self._share.watch is not None:
            self._share.watch.look(bound)
