"""A program that sends what its agent does to OpenTelemetry: spans and metrics, here to the console.

    pip install "remit[telemetry]"
    python -m examples.telemetry

It needs no endpoint: a scripted model stands in for one. In a program of yours, put the exporter of your backend in the
place of the console's; Remit itself needs no setting, it finds what the program has configured.
"""

from __future__ import annotations

from opentelemetry import metrics, trace

try:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
except ImportError as missing:
    raise SystemExit(f'the OpenTelemetry SDK is not installed ({missing}): pip install "remit[telemetry]"') from None

from remit import Agent, ScriptedModel, skill
from remit.models.scripted import ask

SHOWN = (
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "remit.verdict",
    "remit.effect",
    "remit.status",
    "remit.record.seq",
)


@skill(effect="read")
def price(article: str) -> str:
    """Return the price of an article. Use it when the user asks what something costs.

    Args:
        article: its name.
    """
    return f"{article}: 12 EUR"


@skill(effect="write")
def order(article: str) -> str:
    """Order an article.

    Args:
        article: its name.
    """
    return f"ordered {article}"


def short(span: ReadableSpan) -> str:
    """Return a span on a few lines; leave `formatter` out to see everything."""
    found = {name: value for name, value in (span.attributes or {}).items() if name in SHOWN}
    events = [f"  event {event.name} {dict(event.attributes or {})}\n" for event in span.events]
    return f"span {span.name} {found}\n" + "".join(events)


def configure() -> None:
    """Configure OpenTelemetry once, as every program does that uses it."""
    resource = Resource.create({"service.name": "shop"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=short)))
    trace.set_tracer_provider(tracers)
    reader = PeriodicExportingMetricReader(
        ConsoleMetricExporter(formatter=lambda data: f"metrics {data.to_json(indent=None)}\n")
    )
    metrics.set_meter_provider(MeterProvider([reader], resource))


def main() -> None:
    """Make one call that is allowed and one that nobody can sign off: it has no span of its own, but an event."""
    configure()
    script = [
        ask("local.price", article="tea"),
        ask("local.order", article="tea"),
        "Tea costs 12 EUR; I may not order it.",
    ]
    with Agent(skills=[price, order], model=ScriptedModel(script), name="clerk", unattended="deny") as agent:
        print(agent.run("Order some tea, please.").answer)


if __name__ == "__main__":
    main()
