"""OpenTelemetry for the command line, which has no program around it that would configure it."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from remit.errors import DeploymentError

PATIENCE = 3.0
"""Seconds that the end of a command waits for what is still to be sent."""

_INSTALL = {
    "console": ("opentelemetry-sdk", 'pip install "remit[telemetry]"'),
    "otlp": ("opentelemetry-exporter-otlp-proto-http", "pip install opentelemetry-exporter-otlp-proto-http"),
}


def set_up(export: Literal["console", "otlp"]) -> bool:
    """Configure OpenTelemetry, unless the program already has, and flush at the end of the program.

    `console` writes spans and metrics to standard error, `otlp` sends them where the standard variables
    say (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, ...).

    Returns:
        False when it was configured already; then nothing is changed.

    Raises:
        DeploymentError: the package for it is not installed.
    """
    from remit.telemetry.instruments import instruments

    import_api()
    if instruments() is not None:
        return False
    try:
        _configure(*_exporters(export))
    except ImportError as error:
        package, command = _INSTALL[export]
        raise DeploymentError(f"[telemetry] export = {export!r} needs {package}", remedy=command) from error
    return True


def import_api() -> None:
    """Import OpenTelemetry's API, so that `instruments` looks for a configuration."""
    from importlib import import_module

    import_module("opentelemetry")


def _exporters(export: str) -> tuple[Any, Any]:
    if export == "console":
        import sys

        from opentelemetry.sdk.metrics.export import ConsoleMetricExporter
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr), ConsoleMetricExporter(out=sys.stderr)
    from importlib import import_module

    base = "opentelemetry.exporter.otlp.proto.http"
    spans, metrics = import_module(f"{base}.trace_exporter"), import_module(f"{base}.metric_exporter")
    return spans.OTLPSpanExporter(), metrics.OTLPMetricExporter()


def _configure(span_exporter: Any, metric_exporter: Any) -> None:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": "remit"} if not _named() else {})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(span_exporter))
    meters = MeterProvider([PeriodicExportingMetricReader(metric_exporter)], resource, shutdown_on_exit=False)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    atexit.register(_finish, tracers.shutdown, meters.shutdown)


def _finish(*closing: Callable[[], object]) -> None:
    """Send what is left, side by side; a backend that does not answer keeps nobody waiting for longer."""
    threads = [threading.Thread(target=close, daemon=True) for close in closing]
    for thread in threads:
        thread.start()
    ends = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))


def _named() -> bool:
    import os

    return bool(os.environ.get("OTEL_SERVICE_NAME") or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
