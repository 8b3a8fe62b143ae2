"""Carrying out the memory tools on behalf of a session. Answers are JSON strings, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, assert_never

from hermes_memory.application.answers import RecallResult
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View
from hermes_memory.domain.budget import fit_payloads
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    HermesMemoryError,
    InvalidInput,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import Entry, Json, Kind, Origin, RowId, Target
from hermes_memory.domain.ranking import DEFAULT_FLOOR
from hermes_memory.domain.rendering import entry_payload, hit_payload
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding
from hermes_memory.hermes.tools import (
    MemoryForget,
    MemoryProfile,
    MemoryRemember,
    RecallConversation,
    RecallMemory,
    ToolArguments,
    ToolError,
    error_json,
    parse,
    result_json,
    tool_name,
)

READ_ONLY = "this agent context only reads: memory is not written from here"


class ToolCalls:
    """Runs tool calls of one provider's sessions against the runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def answer(self, binding: Binding, name: object, arguments: object) -> str:
        """Return the JSON answer to a call; errors are answers too and say what to do."""
        call = parse(name, arguments)
        if isinstance(call, ToolError):
            return call.json()
        try:
            return self._carry_out(binding, call)
        except HermesMemoryError as error:
            return error_json(
                str(error), retry=isinstance(error, StoreUnavailable | DeadlineExceeded | SchemaNotApplied)
            )

    def _carry_out(self, binding: Binding, call: ToolArguments) -> str:
        match call:
            case RecallMemory() | RecallConversation():
                return self._recall(binding, call)
            case MemoryProfile():
                return self._profile(binding, call)
            case MemoryRemember():
                return self._remember(binding, call)
            case MemoryForget():
                return self._forget(binding, call)
            case _:
                assert_never(call)

    def _recall(self, binding: Binding, call: RecallMemory | RecallConversation) -> str:
        settings = self._runtime.settings
        scope = call.scope or _default_scope(settings.scope_default, binding)
        facts = isinstance(call, RecallMemory)

        async def work(memory: Memory) -> tuple[RecallResult, list[dict[str, Json]]]:
            view = self._view(memory, binding)
            result = await view.recall(
                call.query,
                limit=call.limit,
                scope=scope,
                kinds=frozenset({Kind.ENTRY if facts else Kind.TURN}),
                target=call.target if isinstance(call, RecallMemory) else None,
                floor=DEFAULT_FLOOR,
                timeout=settings.tool_timeout * 0.9,
            )
            hits = [_for_a_model(hit_payload(hit, caller=binding.caller)) for hit in result.hits]
            shown = fit_payloads(hits, settings.tool_tokens)
            view.note_shown(result.trace_id, len(shown))
            return result, shown

        result, shown = self._call(work)
        return result_json(
            hits=shown,
            count=len(shown),
            left_out=len(result.hits) - len(shown),
            scope=scope,
            degraded=list(result.degraded),
            trace_id=str(result.trace_id),
        )

    def _profile(self, binding: Binding, call: MemoryProfile) -> str:
        settings = self._runtime.settings

        async def work(memory: Memory) -> Sequence[Entry]:
            return await self._view(memory, binding).profile(
                target=call.target, limit=call.limit, timeout=settings.tool_timeout * 0.9
            )

        entries: Sequence[Entry] = self._call(work)
        found = [_for_a_model(entry_payload(entry, caller=binding.caller)) for entry in entries]
        shown = fit_payloads(found, settings.tool_tokens)
        return result_json(entries=shown, count=len(shown), left_out=len(found) - len(shown))

    def _remember(self, binding: Binding, call: MemoryRemember) -> str:
        _require_writing(binding)
        if not call.sync:
            operation = self._runtime.local.acceptor.add(
                binding.caller,
                call.content,
                target=Target(call.target),
                origin=Origin.ASSISTANT,
                tool=tool_name(MemoryRemember),
            )
            return result_json(accepted=True, operation=str(operation.stamp.operation))
        entry: Entry = self._call(
            lambda memory: self._view(memory, binding).remember(
                call.content,
                target=call.target,
                origin=Origin.ASSISTANT,
                tool=tool_name(MemoryRemember),
                timeout=self._runtime.settings.tool_timeout * 0.9,
            )
        )
        return result_json(stored=True, entry=entry_payload(entry, caller=binding.caller))

    def _forget(self, binding: Binding, call: MemoryForget) -> str:
        _require_writing(binding)
        if call.entry is not None:
            entry = call.entry
            self._call(
                lambda memory: self._view(memory, binding).forget(
                    entry,
                    origin=Origin.ASSISTANT,
                    tool=tool_name(MemoryForget),
                    timeout=self._runtime.settings.tool_timeout * 0.9,
                )
            )
            return result_json(forgotten=True, id=str(entry))
        content = call.content or ""
        forgotten: Sequence[RowId] = self._call(
            lambda memory: self._view(memory, binding).forget_content(
                content,
                origin=Origin.ASSISTANT,
                tool=tool_name(MemoryForget),
                timeout=self._runtime.settings.tool_timeout * 0.45,
            )
        )
        return result_json(forgotten=True, id=str(forgotten[0]))

    def _view(self, memory: Memory, binding: Binding) -> View:
        # An agent's turn does not wait for a database that is known to be away.
        return memory.view_of(binding.caller, patient=False)

    def _call(self, work: Callable[[Memory], Coroutine[Any, Any, Any]]) -> Any:
        return self._runtime.call(work, timeout=self._runtime.settings.tool_timeout)


def _default_scope(configured: str, binding: Binding) -> str:
    """Return the configured default, or `current` where it makes no sense for this session."""
    return "current" if configured == "subject" and binding.caller.subject is None else configured


def _for_a_model(payload: dict[str, Json]) -> dict[str, Json]:
    """Leave out of one of many hits what only an operator can use, and what takes the place of every sixth hit."""
    return {name: value for name, value in payload.items() if name != "operation"}


def _require_writing(binding: Binding) -> None:
    if not binding.writes:
        raise InvalidInput(READ_ONLY)
