"""A program that has set up OpenTelemetry, opens a memory and prints what it is told: one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import anyio

TEXT = "The launch is on 3 May"


def told_of(setting: str) -> dict[str, object]:
    """Use a memory under the setting and return the spans and numbers that it made."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(spans)
    tracer = trace.get_tracer("host")
    open_numbers: list[str] = []

    def begin() -> None:
        metrics.set_meter_provider(MeterProvider([reader]))

    def look() -> None:
        open_numbers.extend(_numbers(reader.get_metrics_data()))

    with tracer.start_as_current_span("turn"):
        anyio.run(use, setting, begin, look)
    ended = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in ended if span.context}
    return {
        "spans": sorted({(span.name, names[span.parent.span_id] if span.parent else "") for span in ended}),
        "numbers": sorted(set(open_numbers)),
        "afterwards": sorted(name for name in _numbers(reader.get_metrics_data()) if name.endswith("spool_depth")),
        "everything": "".join(span.to_json() for span in ended),
    }


async def use(setting: str, begin: Callable[[], None], look: Callable[[], None]) -> None:
    """Remember something and find it again; begin to listen once the memory is open, and look before it closes."""
    from hermes_memory.application import monitor
    from hermes_memory.testing import open_in_process

    monitor.WATCH_SECONDS = 0.01  # type: ignore[misc]
    async with open_in_process(settings={"opentelemetry": setting}) as memory:
        begin()
        view = memory.view("kestrel", session="s-kestrel")
        await view.remember(TEXT)
        await view.recall("When is the launch?")
        await anyio.sleep(0.5)
        look()


def _numbers(data: object) -> list[str]:
    resources = getattr(data, "resource_metrics", ())
    return [metric.name for one in resources for scope in one.scope_metrics for metric in scope.metrics]


def nothing() -> None:
    """Do nothing."""


def main() -> None:
    """Say what is told, or with `loaded` what is imported where nobody wants to be told."""
    if sys.argv[1] == "loaded":
        anyio.run(use, sys.argv[2], nothing, nothing)
        listeners = ("hermes_memory.adapters.metrics.", "prometheus_client")
        print(json.dumps([name for name in sys.modules if name.startswith(listeners)]))
    else:
        print(json.dumps(told_of(sys.argv[2])))


if __name__ == "__main__":
    main()
