"""Contract of `Tracer`: spans lie within each other as the blocks do, and tell names and kinds of errors alone."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest

from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.tracing import Tracer

Span = tuple[Timing, Timing | None, str | None]
"""What it is of, what the span around it is of, and the kind of its error."""


class TracerContract(ABC):
    """What every `Tracer` keeps. A subclass says how to make one and how to read the spans that ended."""

    @abstractmethod
    def make_tracer(self) -> Tracer:
        """Make one without spans."""

    @abstractmethod
    def spans(self, tracer: Tracer) -> Sequence[Span]:
        """Return the spans that ended, in that order."""

    @pytest.fixture
    def tracer(self) -> Tracer:
        """Return one without spans."""
        return self.make_tracer()

    def test_a_block_within_another_is_a_span_within_the_others(self, tracer: Tracer) -> None:
        with tracer.span(Timing.RECALL):
            with tracer.span(Timing.RECALL_TEXT):
                pass
            with tracer.span(Timing.RECALL_EMBED):
                pass
        with tracer.span(Timing.SEALING):
            pass

        assert list(self.spans(tracer)) == [
            (Timing.RECALL_TEXT, Timing.RECALL, None),
            (Timing.RECALL_EMBED, Timing.RECALL, None),
            (Timing.RECALL, None, None),
            (Timing.SEALING, None, None),
        ]

    def test_of_an_error_the_kind_is_told_and_it_goes_on(self, tracer: Tracer) -> None:
        with pytest.raises(StoreUnavailable, match="what was said"), tracer.span(Timing.DELIVERY):
            raise StoreUnavailable("what was said")

        assert list(self.spans(tracer)) == [(Timing.DELIVERY, None, "StoreUnavailable")]
        assert "what was said" not in str(vars(tracer))

    def test_a_span_ends_when_its_task_is_cancelled(self, tracer: Tracer) -> None:
        async def hang() -> None:
            with tracer.span(Timing.EMBEDDING):
                await asyncio.sleep(3600)

        async def cancel() -> None:
            task = asyncio.create_task(hang())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(cancel())

        assert list(self.spans(tracer)) == [(Timing.EMBEDDING, None, "CancelledError")]

    def test_tasks_that_a_block_starts_are_within_it_and_not_within_each_other(self, tracer: Tracer) -> None:
        async def leg(timing: Timing) -> None:
            with tracer.span(timing):
                await asyncio.sleep(0)

        async def recall() -> None:
            with tracer.span(Timing.RECALL):
                await asyncio.gather(leg(Timing.RECALL_TEXT), leg(Timing.RECALL_VECTOR))

        asyncio.run(recall())

        assert set(self.spans(tracer)) == {
            (Timing.RECALL_TEXT, Timing.RECALL, None),
            (Timing.RECALL_VECTOR, Timing.RECALL, None),
            (Timing.RECALL, None, None),
        }

    def test_what_another_thread_does_is_not_within_this_ones_block(self, tracer: Tracer) -> None:
        def accept() -> None:
            with tracer.span(Timing.ACCEPT):
                pass

        with tracer.span(Timing.RECALL):
            thread = threading.Thread(target=accept)
            thread.start()
            thread.join()

        assert list(self.spans(tracer)) == [(Timing.ACCEPT, None, None), (Timing.RECALL, None, None)]
