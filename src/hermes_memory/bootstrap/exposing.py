"""Showing the numbers of a process to whoever watches it: at an address for Prometheus, and to OpenTelemetry."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import anyio

from hermes_memory.adapters.loading import LOADING
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.worker import call_aside
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError
from hermes_memory.domain.listening import Listening, listening
from hermes_memory.ports.metrics import Metrics
from hermes_memory.settings import Settings

if TYPE_CHECKING:
    from hermes_memory.adapters.metrics.endpoint import MetricsEndpoint
    from hermes_memory.adapters.metrics.prometheus import PrometheusMetrics

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 15.0
"""How often to look whether a port has become free: the process that had it may have ended."""
INSTALL: Final = "the client library of Prometheus is missing: pip install 'hermes-memory-postgres[metrics]'"


def new_endpoint(where: Listening, *, events: bool) -> tuple[PrometheusMetrics, MetricsEndpoint]:
    """Serve numbers, none at first, at an address.

    Args:
        events: Show times and happenings as well.

    Raises:
        ConfigurationError: The client library is missing, or the address cannot be used.
        PortsTaken: Others listen there now.
    """
    try:
        with LOADING:
            from prometheus_client.registry import CollectorRegistry  # noqa: PLC0415 - loaded only where it is wanted

            from hermes_memory.adapters.metrics.endpoint import MetricsEndpoint  # noqa: PLC0415
            from hermes_memory.adapters.metrics.prometheus import PrometheusMetrics  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(INSTALL) from error
    registry = CollectorRegistry()
    return PrometheusMetrics(registry, events=events), MetricsEndpoint(registry, where)


class Exposure:
    """Serves the numbers of a process while its memory is open. The memory works without it, whatever happens here."""

    def __init__(self, where: Listening, telemetry: Telemetry) -> None:
        self._where = where
        self._telemetry = telemetry

    async def run(self) -> None:
        """Serve until cancelled, from the first moment that one of the ports is free."""
        told = False
        while True:
            try:
                metrics, endpoint = await call_aside(lambda: new_endpoint(self._where, events=True))
            except Exception as error:  # noqa: BLE001 - a port that is taken; a release of the library whose calls differ
                if not told:
                    reason = str(error) if isinstance(error, HermesMemoryError) else "it is of no use here"
                    facts = {"action": "metrics.not_served", "cause": type(error).__name__, "reason": reason}
                    logger.warning("this process serves no metrics for now", extra=facts)
                told = True
                await anyio.sleep(RETRY_SECONDS)
                continue
            await self._serve(metrics, endpoint)

    async def _serve(self, metrics: PrometheusMetrics, endpoint: MetricsEndpoint) -> None:
        self._telemetry.attach(metrics)
        facts = {"action": "metrics.served", "address": self._where.address, "port": endpoint.port}
        logger.info("this process serves its metrics", extra=facts)
        try:
            await anyio.sleep_forever()
        finally:
            self._telemetry.detach(metrics)
            with anyio.CancelScope(shield=True):
                await call_aside(endpoint.close)


def exposure_of(settings: Settings, telemetry: Telemetry) -> Exposure | None:
    """Return what serves the metrics of a process, None when that is not wanted."""
    return Exposure(listening(settings.metrics_listen), telemetry) if settings.metrics_listen else None


@contextmanager
def traced(settings: Settings, telemetry: Telemetry) -> Iterator[None]:
    """Hand numbers and spans to OpenTelemetry for the length of the block, where its API is installed."""
    if settings.opentelemetry == "off" or find_spec("opentelemetry") is None:
        yield
        return
    try:
        with LOADING:
            from hermes_memory.adapters.metrics.opentelemetry import (  # noqa: PLC0415 - loaded only where it is wanted
                OpenTelemetryMetrics,
                OpenTelemetryTracer,
            )
        metrics, tracer = OpenTelemetryMetrics(), OpenTelemetryTracer()
    except Exception as error:  # noqa: BLE001 - whatever another package of that name, or a release of it, raises
        facts = {"action": "telemetry.missing", "cause": type(error).__name__}
        logger.info("the API of OpenTelemetry cannot be used", extra=facts)
        yield
        return
    telemetry.attach(metrics, wants=metrics.wanted)
    telemetry.follow(tracer)
    try:
        yield
    finally:
        telemetry.unfollow(tracer)
        telemetry.detach(metrics)
        metrics.close()


def listened(settings: Settings, telemetry: Telemetry, metrics: Metrics | None) -> ExitStack:
    """Let everybody listen who wants to: the caller's own metrics and OpenTelemetry, until the stack is closed."""
    listeners = ExitStack()
    listeners.enter_context(traced(settings, telemetry))
    if metrics is not None:
        telemetry.attach(metrics)
        listeners.callback(telemetry.detach, metrics)
    return listeners
