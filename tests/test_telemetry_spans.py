"""What OpenTelemetry's own SDK receives of runs, turns and calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.metrics import _internal as meters
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import remit
from remit.agent import Agent
from remit.errors import ModelError
from remit.models.scripted import ScriptedModel, ask
from remit.telemetry import instruments
from tests.pipeline_parts import Person

SECRET = "sk-THISISNOTAREALKEY1234567890"


class Collected:
    """What was exported so far."""

    def __init__(self) -> None:
        self.spans_exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.spans_exporter.get_finished_spans()}

    @property
    def text(self) -> str:
        return "".join(span.to_json() for span in self.spans_exporter.get_finished_spans())

    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        found = [metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        return {metric.name: list(metric.data.data_points) for metric in found}


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """The real SDK, configured as a program would, for one test."""
    found = Collected()
    tracers, measured = TracerProvider(), MeterProvider([found.reader])
    tracers.add_span_processor(SimpleSpanProcessor(found.spans_exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", tracers)
    monkeypatch.setattr(meters, "_METER_PROVIDER", measured)
    assert trace.get_tracer_provider() is tracers and metrics.get_meter_provider() is measured
    yield found
    tracers.shutdown()
    measured.shutdown()


@remit.skill(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


@remit.skill(effect="read")
def break_down() -> str:
    """Fail."""
    raise RuntimeError("it broke")


@remit.skill(effect="write")
def save(text: str) -> str:
    """Save a text.

    Args:
        text: what to save.
    """
    return f"saved {text}"


def run(*script: Any, **options: Any) -> Any:
    with Agent(model=ScriptedModel(script), skills=(add, break_down, save), name="clerk", **options) as agent:
        result = agent.run("Please go on.")
        records = list(agent.state.records())
        return result, records


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_run_is_a_tree_with_the_names_of_the_conventions(collected: Collected) -> None:
    _, records = run(ask("local.add", a=2, b=3), "It is 5.")
    assert set(collected.spans) == {"invoke_agent clerk", "chat scripted", "execute_tool local.add"}
    top, tool = collected.spans["invoke_agent clerk"], collected.spans["execute_tool local.add"]
    chats = [span for span in collected.spans_exporter.get_finished_spans() if span.name == "chat scripted"]
    assert top.parent is None
    assert {span.parent.span_id for span in (tool, *chats) if span.parent} == {top.context.span_id}
    assert (
        attributes(top).items()
        >= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "clerk",
            "gen_ai.request.model": "scripted",
            "remit.run.status": "answered",
            "remit.run.steps": 2,
        }.items()
    )
    assert attributes(top)["gen_ai.usage.input_tokens"] > 0
    assert (
        attributes(chats[0]).items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "custom",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.request.temperature": 0.0,
        }.items()
    )
    finished = next(record for record in records if record.event == "call.finished")
    assert (
        attributes(tool).items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "local.add",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": finished.call,
            "remit.effect": "read",
            "remit.verdict": "allow",
            "remit.verdict.source": "default read",
            "remit.status": "ok",
            "remit.record.seq": finished.seq,
            "remit.enforcement": ("all rights=not enforced",),
        }.items()
    )
    assert tool.status.status_code is StatusCode.UNSET


def test_records_keep_the_trace(collected: Collected) -> None:
    _, records = run(ask("local.add", a=2, b=3), "It is 5.")
    trace_id = f"{collected.spans['invoke_agent clerk'].context.trace_id:032x}"
    assert {record.trace for record in records} == {trace_id}


def test_content_is_exported_only_where_a_deployment_says_so(collected: Collected) -> None:
    run(ask("local.save", text=f"for Ada: {SECRET}"), "Saved for Ada.", approver=Person())
    assert "Ada" not in collected.text and "go on" not in collected.text and SECRET not in collected.text


def test_a_denied_call_has_no_span_of_its_own(collected: Collected) -> None:
    run(ask("local.save", text="x"), "I could not.", approver=Person("deny", "not now"))
    assert set(collected.spans) == {"invoke_agent clerk", "chat scripted"}
    (event,) = collected.spans["invoke_agent clerk"].events
    assert event.name == "remit.call.not_run"
    about = dict(event.attributes or {})
    assert (
        about.items()
        >= {
            "gen_ai.tool.name": "local.save",
            "remit.status": "denied",
            "remit.verdict": "ask",
            "remit.signoff": "deny",
        }.items()
    )
    assert "not now" not in collected.text
    run(ask("local.save", text="x"), "Done.", approver=Person())
    signed = collected.spans["execute_tool local.save"]
    assert attributes(signed)["remit.signoff"] == "once" and attributes(signed)["remit.signoff.wait"] >= 0


def test_errors_set_the_status(collected: Collected) -> None:
    run(ask("local.break_down"), ModelError("the endpoint is down"))
    tool, top = collected.spans["execute_tool local.break_down"], collected.spans["invoke_agent clerk"]
    chat = collected.spans_exporter.get_finished_spans()[-2]
    for span, kind in ((tool, "failed"), (chat, "ModelError"), (top, "failed")):
        assert span.status.status_code is StatusCode.ERROR and attributes(span)["error.type"] == kind
        assert not span.status.description and not span.events


def test_a_run_that_is_cancelled_ends_its_spans(collected: Collected) -> None:
    @remit.skill(effect="read")
    async def wait() -> str:
        """Wait."""
        raise KeyboardInterrupt

    with (
        Agent(model=ScriptedModel([ask("local.wait"), "x"]), skills=(wait,)) as agent,
        pytest.raises(KeyboardInterrupt),
    ):
        agent.run("go")
    assert set(collected.spans) == {"invoke_agent", "chat scripted", "execute_tool local.wait"}
    assert not trace.get_current_span().get_span_context().is_valid


def test_code_in_a_call_continues_the_trace(collected: Collected) -> None:
    seen: list[str] = []

    @remit.skill(effect="read")
    def inner(ctx) -> str:  # type: ignore[no-untyped-def]
        """Look at the trace."""
        seen.append(ctx.traceparent)
        with trace.get_tracer("pack").start_as_current_span("inside"):
            return "ok"

    with Agent(model=ScriptedModel([ask("local.inner"), "x"]), skills=(inner,)) as agent:
        agent.run("go")
    tool, inside = collected.spans["execute_tool local.inner"].context, collected.spans["inside"]
    assert inside.parent is not None and inside.parent.span_id == tool.span_id
    assert [one[:52] for one in seen] == [f"00-{tool.trace_id:032x}-{tool.span_id:016x}"]


def test_a_run_joins_the_trace_of_the_program_around_it(collected: Collected) -> None:
    with trace.get_tracer("program").start_as_current_span("request") as request:
        run("Hello.")
    parent = collected.spans["invoke_agent clerk"].parent
    assert parent is not None and parent.span_id == request.get_span_context().span_id


def test_metrics_have_the_names_of_the_conventions(collected: Collected) -> None:
    run(ask("local.add", a=2, b=3), ask("local.nothing"), "Done.")
    found = collected.metrics()
    assert set(found) == {
        "gen_ai.invoke_agent.duration",
        "gen_ai.invoke_agent.inference_calls",
        "gen_ai.invoke_agent.tool_calls",
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
        "gen_ai.client.inference.operation.input_tokens",
        "gen_ai.client.inference.operation.output_tokens",
        "gen_ai.execute_tool.duration",
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "remit.calls",
    }
    (turns,) = found["gen_ai.invoke_agent.inference_calls"]
    (tools,) = found["gen_ai.invoke_agent.tool_calls"]
    assert (turns.sum, tools.sum) == (3, 1)
    calls = {(p.attributes["gen_ai.tool.name"], p.attributes["remit.status"]): p.value for p in found["remit.calls"]}
    assert calls == {("local.add", "ok"): 1, ("unknown", "invalid"): 1}
    kinds = {point.attributes["gen_ai.token.type"] for point in found["gen_ai.client.token.usage"]}
    assert kinds == {"input", "output"}
    (duration,) = found["gen_ai.client.inference.duration"]
    assert duration.explicit_bounds[0] == 0.01 and duration.count == 3


def test_nothing_is_exported_where_nothing_is_configured(tmp_path: Path) -> None:
    assert instruments.instruments() is None
    _, records = run(ask("local.add", a=2, b=3), "It is 5.")
    assert {record.trace for record in records} == {""}
    assert json.loads(json.dumps([record.trace for record in records]))
