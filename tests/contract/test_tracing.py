"""Both adapters keep the contract of the tracing port."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hermes_memory.adapters.inmemory.metrics import InMemoryTracer
from hermes_memory.adapters.metrics.opentelemetry import ERROR_TYPE, PREFIX, OpenTelemetryTracer
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.tracing import Tracer
from hermes_memory.testing.tracer_contract import Span, TracerContract


class TestInMemoryTracer(TracerContract):
    def make_tracer(self) -> Tracer:
        return InMemoryTracer()

    def spans(self, tracer: Tracer) -> Sequence[Span]:
        assert isinstance(tracer, InMemoryTracer)
        return tracer.spans


class TestOpenTelemetryTracer(TracerContract):
    def make_tracer(self) -> Tracer:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        return OpenTelemetryTracer(provider)

    def spans(self, tracer: Tracer) -> Sequence[Span]:
        ended = self.exporter.get_finished_spans()
        timings = {span.context.span_id: Timing(span.name.removeprefix(PREFIX)) for span in ended if span.context}
        found: list[Span] = []
        for span in ended:
            attributes = dict(span.attributes or {})
            kind = attributes.pop(ERROR_TYPE, None)
            assert (attributes, span.events) == ({}, ())
            assert span.status.is_ok is (kind is None)
            assert span.status.description is None
            around = timings[span.parent.span_id] if span.parent else None
            found.append((Timing(span.name.removeprefix(PREFIX)), around, None if kind is None else str(kind)))
        return found
