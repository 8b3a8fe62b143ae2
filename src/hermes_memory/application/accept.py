"""Accepting writes: clean, redact, bind identity and time, keep durably. Any thread may call.

After a method returns an operation id, the write survives the death of the process and reaches the store later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import uuid4

from hermes_memory.application.preparing import Preparing, moment
from hermes_memory.application.secret_guard import HoldsSecret, SecretGuard
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import HermesMemoryError, InvalidInput, SpoolFull
from hermes_memory.domain.model import (
    Caller,
    HomeId,
    OperationId,
    Origin,
    Role,
    SessionId,
    Target,
    Theme,
)
from hermes_memory.domain.noise import worth_remembering
from hermes_memory.domain.operations import (
    AddEntry,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
    Stamp,
    TurnDraft,
)
from hermes_memory.domain.redaction import SecretPolicy
from hermes_memory.domain.sessions import SessionNames
from hermes_memory.domain.trust import spoken_by
from hermes_memory.ports.metrics import Happening, Timing
from hermes_memory.ports.secrets import SecretTally
from hermes_memory.ports.spool import Spool

logger = logging.getLogger(__name__)

DELEGATION_MAX_CHARS = 8_192
NAME_MAX_CHARS = 200
REASON_MAX_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePolicy:
    """What of a conversation is kept, and how.

    Attributes:
        turns: Keep turns at all.
        min_width: Display columns below which a turn is not kept; 0 trusts the noise filter alone.
        max_chars: Characters after which a turn is cut, marked.
        embed: Which kept turns get a vector: all, only substantive ones, or none.
        secrets: What becomes of a text that holds a secret.
    """

    turns: bool = True
    min_width: int = 0
    max_chars: int = 65_536
    embed: Literal["all", "substantive_only", "none"] = "all"
    secrets: SecretPolicy = SecretPolicy.REDACT


class Said(NamedTuple):
    """One message as a host or a library caller hands it in; `content` may be anything.

    Attributes:
        by_agent: Another agent said it in the user's place.
        cleaned: `content` is a text that `clean_text` made, so that it need not be cleaned once more. It is longer than
            what is kept of it by `LOOKED_BEYOND` characters, if it was.
    """

    role: Role
    content: object
    speaker: str | None = None
    at: datetime | None = None
    occurrence: int = 0
    metadata: Mapping[str, object] | None = None
    by_agent: bool = False
    cleaned: bool = False


class Acceptor:
    """The only way in for writes."""

    def __init__(
        self,
        spool: Spool,
        *,
        policy: CapturePolicy,
        now: Callable[[], datetime],
        accepted: Callable[[Operation], None] = lambda _: None,
        tally: SecretTally | None = None,
        telemetry: Telemetry | None = None,
        sessions: SessionNames | None = None,
    ) -> None:
        """Accept into `spool`; `accepted` hears of each write, in the caller's thread, and must not block.

        Secrets that are kept out are counted in `tally`, and what a write took is told to `telemetry`. Sessions are
        kept under the names that `sessions` gives them.
        """
        self.preparing = Preparing(SecretGuard(policy.secrets, tally), sessions=sessions)
        self._spool = spool
        self._policy = policy
        self._now = now
        self._accepted = accepted
        self._telemetry = telemetry or Telemetry()

    def add(
        self,
        caller: Caller,
        content: object,
        *,
        target: Target,
        origin: Origin,
        at: datetime | None = None,
        source: HomeId | None = None,
        metadata: Mapping[str, object] | None = None,
        tool: str | None = None,
        reason: str | None = None,
    ) -> Operation:
        """Accept a durable memory; `reason` says why, for its history.

        Raises:
            InvalidInput: Nothing is left of the content after cleaning, it is too large, or the time is out of range.
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now; nothing was accepted.
        """
        stamp = self._stamp(caller, origin, tool, reason)
        return self._put(
            AddEntry(
                stamp=stamp,
                target=target,
                content=self.preparing.content(content),
                at=stamp.accepted_at if at is None else moment(at),
                source=source,
                metadata=self.preparing.metadata(metadata),
            )
        )

    def replace(
        self,
        caller: Caller,
        selector: Selector,
        content: object,
        *,
        origin: Origin,
        upsert: bool = False,
        source: HomeId | None = None,
        at: datetime | None = None,
        tool: str | None = None,
        reason: str | None = None,
    ) -> Operation:
        """Accept a change of one memory; `reason` says why, for its history.

        Args:
            at: When the new content was said or became true; now by default.

        Raises:
            InvalidInput: Nothing is left of the content after cleaning, it is too large, or the time is out of range.
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now; nothing was accepted.
        """
        return self._put(
            ReplaceEntry(
                stamp=self._stamp(caller, origin, tool, reason),
                selector=self.preparing.selector(selector),
                content=self.preparing.content(content),
                upsert=upsert,
                source=source,
                at=None if at is None else moment(at),
            )
        )

    def remove(
        self, caller: Caller, selector: Selector, *, origin: Origin, tool: str | None = None, reason: str | None = None
    ) -> Operation:
        """Accept the removal of one memory; `reason` says why, for its history.

        Raises:
            InvalidInput: The selector names no text.
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now; nothing was accepted.
        """
        prepared = self.preparing.selector(selector)
        return self._put(RemoveEntry(stamp=self._stamp(caller, origin, tool, reason), selector=prepared))

    def turns(
        self, caller: Caller, said: Sequence[Said], *, filtered: bool = True, parent: SessionId | None = None
    ) -> Operation | None:
        """Accept messages of the caller's session; return None when none of them is worth keeping.

        Args:
            filtered: Leave out noise. A library caller who hands in one turn on purpose gets it kept.
            parent: The session that started this one.

        Raises:
            InvalidInput: The caller has no session, or a message is too large; or one that is not `filtered` is refused
                because it holds a secret.
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now; nothing was accepted.
        """
        if not self._policy.turns and filtered:
            return None
        stamp = self._stamp(caller, Origin.USER, None)
        drafts = tuple(draft for one in said if (draft := self._draft_or_not(one, stamp.accepted_at, filtered)))
        if not drafts:
            return None
        return self._put(RecordTurns(stamp=stamp, turns=drafts, parent_session=self.preparing.session(parent)))

    def delegation(
        self,
        caller: Caller,
        *,
        task: object,
        result: object,
        child_session: SessionId | None,
        child_theme: Theme | None = None,
    ) -> Operation:
        """Accept the note that a task was handed to a child agent.

        Raises:
            SpoolFull: The spool has reached its bound.
            StoreUnavailable: The spool cannot be used for now; nothing was accepted.
        """
        return self._put(
            RecordDelegation(
                stamp=self._stamp(caller, Origin.AGENT, None),
                child_session=self.preparing.session(child_session),
                child_theme=child_theme,
                task=self.preparing.text(task, DELEGATION_MAX_CHARS),
                result=self.preparing.text(result, DELEGATION_MAX_CHARS),
            )
        )

    def _draft_or_not(self, said: Said, accepted_at: datetime, filtered: bool) -> TurnDraft | None:
        """Draft a message; of a conversation that is captured, one that is refused takes no other with it."""
        try:
            return self._draft(said, accepted_at, filtered)
        except HoldsSecret:
            if not filtered:
                raise
            logger.warning("a message was not kept: it holds a secret", extra={"action": "accept.secret"})
            return None

    def _draft(self, said: Said, accepted_at: datetime, filtered: bool) -> TurnDraft | None:
        content, max_chars = said.content, self._policy.max_chars
        if said.cleaned and isinstance(content, str):
            text = self.preparing.cleaned(content, max_chars)
        else:
            text = self.preparing.text(content, max_chars)
        substantive = worth_remembering(text, said.role, min_width=self._policy.min_width)
        if not text or (filtered and not substantive):
            return None
        return TurnDraft(
            role=said.role,
            content=text,
            at=accepted_at if said.at is None else moment(said.at),
            origin=spoken_by(said.role, by_agent=said.by_agent),
            speaker=self.preparing.speaker(said.speaker, NAME_MAX_CHARS),
            occurrence=said.occurrence,
            embed=self._policy.embed == "all" or (self._policy.embed == "substantive_only" and substantive),
            metadata=self.preparing.metadata(said.metadata),
        )

    def _stamp(self, caller: Caller, origin: Origin, tool: str | None, reason: str | None = None) -> Stamp:
        name = None if tool is None else self.preparing.text(tool, NAME_MAX_CHARS) or None
        return Stamp(
            operation=OperationId(uuid4()),
            caller=self.preparing.caller(caller),
            origin=origin,
            accepted_at=self._now(),
            tool=name,
            reason=None if reason is None else self.preparing.text(reason, REASON_MAX_CHARS) or None,
        )

    def _put(self, operation: Operation) -> Operation:
        try:
            with self._telemetry.timed(Timing.ACCEPT):
                self._spool.put(operation)
        except HermesMemoryError as error:
            self._telemetry.count(_refusal(error))
            raise
        self._accepted(operation)
        return operation


def _refusal(error: HermesMemoryError) -> Happening:
    if isinstance(error, SpoolFull):
        return Happening.REFUSED_FULL
    return Happening.REFUSED_INVALID if isinstance(error, InvalidInput) else Happening.REFUSED_UNUSABLE
