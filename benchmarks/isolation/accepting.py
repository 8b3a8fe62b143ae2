"""What accepting a turn costs the processor: keeping it alone, stamped and cleaned, and searched for secrets."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.accept import Acceptor, CapturePolicy, Said
from hermes_memory.domain.model import Caller, Role
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.redaction import SecretPolicy

TURN: Final = (
    "The deployment to the second cluster failed twice because the health check of the gateway answers before its "
    "pool is filled; we wait for three good answers now and roll back after forty seconds."
)


def accepting(caller: Caller, calls: int) -> dict[str, float]:
    """Return microseconds a call, by what is done with the turn."""
    sides = {
        "kept": _kept(caller, calls),
        "stamped": _accepted(caller, SecretPolicy.ALLOW),
        "redacted": _accepted(caller, SecretPolicy.REDACT),
    }
    return {name: _microseconds(side, calls) for name, side in sides.items()}


def _microseconds(call: Callable[[int], object], calls: int) -> float:
    started = time.perf_counter()
    for number in range(calls):
        call(number)
    return (time.perf_counter() - started) / calls * 1e6


def _accepted(caller: Caller, secrets: SecretPolicy) -> Callable[[int], object]:
    acceptor = Acceptor(InMemorySpool(), policy=CapturePolicy(secrets=secrets), now=lambda: datetime.now(UTC))
    return lambda number: acceptor.turns(caller, [_said(number)], filtered=False)


def _kept(caller: Caller, calls: int) -> Callable[[int], object]:
    acceptor = Acceptor(InMemorySpool(), policy=CapturePolicy(), now=lambda: datetime.now(UTC))
    made: list[Operation | None] = [acceptor.turns(caller, [_said(number)], filtered=False) for number in range(calls)]
    spool = InMemorySpool()

    def keep(number: int) -> None:
        operation = made[number]
        if operation is not None:
            spool.put(operation)

    return keep


def _said(number: int) -> Said:
    return Said(role=Role.USER, content=f"{TURN} ({number})")
