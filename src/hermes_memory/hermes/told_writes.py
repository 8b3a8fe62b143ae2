"""Writes of the host's own memory tool, as it tells of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from hermes_memory.application.arguments import parse_target
from hermes_memory.application.mirror import Mirror
from hermes_memory.domain.model import Caller, Target
from hermes_memory.hermes.host_values import holds_text

logger = logging.getLogger(__name__)


class Action(StrEnum):
    """What the host did to a notebook."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldWrite:
    """One write that the host told of.

    Attributes:
        content: The new text; nothing for a removal.
        previous: The whole entry it concerns, where the host says so.
        old_text: Otherwise a text that this entry contains.
    """

    action: Action
    target: Target
    content: object
    previous: object
    old_text: object

    @classmethod
    def from_host(cls, action: str, target: str, content: object, facts: Mapping[str, Any]) -> ToldWrite | None:
        """Read what the host says; None when there is nothing to mirror.

        Raises:
            InvalidInput: The target is not one of the notebooks.
        """
        text = content if content not in (None, "") else facts.get("new_text")
        try:
            kind = Action(action)
        except ValueError:
            logger.warning("unknown notebook action", extra={"action": "hook.on_memory_write"})
            return None
        if kind is not Action.REMOVE and not holds_text(text):
            return None
        return cls(
            action=kind,
            target=parse_target(target),
            content=text,
            previous=facts.get("previous_content"),
            old_text=facts.get("old_text"),
        )

    def leave_out(self, mirror: Mirror) -> None:
        """Mirror nothing, and note that no reconciliation is to make what was written everybody's."""
        if self.action is not Action.REMOVE:
            mirror.kept_out(self.content)

    def accept(self, mirror: Mirror, caller: Caller) -> None:
        """Mirror it.

        Raises:
            InvalidInput: Nothing says which entry is meant, or the content is not usable.
            SpoolFull: The spool has reached its bound.
        """
        match self.action:
            case Action.ADD:
                mirror.added(caller, self.target, self.content)
            case Action.REPLACE:
                mirror.replaced(caller, self.target, self.content, previous=self.previous, old_text=self.old_text)
            case Action.REMOVE:
                mirror.removed(caller, self.target, previous=self.previous, old_text=self.old_text)
            case _:
                assert_never(self.action)
