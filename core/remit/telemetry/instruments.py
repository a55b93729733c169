"""The tracer and the metric instruments, made once for each configuration of OpenTelemetry."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter
    from opentelemetry.trace import Tracer

Attributes = dict[str, Any]

SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Bucket boundaries of durations, as the conventions give them."""

RUN_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
WAITS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 604800.0)


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What spans and metrics are written with; `older_*` have the names of the conventions up to 1.41."""

    tracer: Tracer
    run_duration: Histogram
    run_inferences: Histogram
    run_tools: Histogram
    inference_duration: Histogram
    first_chunk: Histogram
    input_tokens: Counter
    output_tokens: Counter
    operation_input: Histogram
    operation_output: Histogram
    tool_duration: Histogram
    calls: Counter
    signoff_wait: Histogram
    older_duration: Histogram
    older_tokens: Histogram


_made: tuple[object, object, Instruments] | None = None


def instruments() -> Instruments | None:
    """Return the instruments, or None where this program has not configured OpenTelemetry.

    Nothing is imported for a program that never did itself; asking costs a look into a table then.
    """
    global _made
    if "opentelemetry" not in sys.modules:
        return None
    from opentelemetry import metrics, trace

    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    if _made is not None and _made[0] is tracers and _made[1] is meters:
        return _made[2]
    if not _real(tracers) and not _real(meters):
        return None
    made = _make(tracers.get_tracer("remit", _version()), meters.get_meter("remit", _version()))
    _made = (tracers, meters, made)
    return made


def _real(provider: object) -> bool:
    """Say whether somebody configured `provider`; the stand-ins live in the API's own modules."""
    return not type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


def _version() -> str:
    from remit import __version__

    return __version__


def _make(tracer: Tracer, meter: Meter) -> Instruments:
    def seconds(name: str, what: str, boundaries: tuple[float, ...] = SECONDS) -> Histogram:
        return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=boundaries)

    def counts(name: str, unit: str, what: str, boundaries: tuple[int, ...] = TOKENS) -> Histogram:
        return meter.create_histogram(name, unit, what, explicit_bucket_boundaries_advisory=boundaries)

    return Instruments(
        tracer=tracer,
        run_duration=seconds("gen_ai.invoke_agent.duration", "Duration of a run", RUN_SECONDS),
        run_inferences=counts(
            "gen_ai.invoke_agent.inference_calls", "{inference_call}", "Model turns of a run", COUNTS
        ),
        run_tools=counts("gen_ai.invoke_agent.tool_calls", "{tool_call}", "Calls that ran in a run", COUNTS),
        inference_duration=seconds("gen_ai.client.inference.duration", "Duration of a model turn"),
        first_chunk=seconds("gen_ai.client.inference.time_to_first_chunk", "Time until a streamed reply begins"),
        input_tokens=meter.create_counter("gen_ai.client.inference.usage.input_tokens", "{token}", "Input tokens used"),
        output_tokens=meter.create_counter(
            "gen_ai.client.inference.usage.output_tokens", "{token}", "Output tokens used"
        ),
        operation_input=counts(
            "gen_ai.client.inference.operation.input_tokens", "{token}", "Input tokens of a model turn"
        ),
        operation_output=counts(
            "gen_ai.client.inference.operation.output_tokens", "{token}", "Output tokens of a model turn"
        ),
        tool_duration=seconds("gen_ai.execute_tool.duration", "Duration of a call that ran"),
        calls=meter.create_counter("remit.calls", "{call}", "Calls by skill, verdict and status"),
        signoff_wait=seconds("remit.signoff.wait", "Time until a person answered", WAITS),
        older_duration=seconds("gen_ai.client.operation.duration", "Duration of a model turn"),
        older_tokens=counts("gen_ai.client.token.usage", "{token}", "Tokens of a model turn by type"),
    )
