"""The example, the command line's own set-up, the way into cells, and what a deployment may opt into."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from remit.agent import Agent
from remit.deployment.try_pack import try_pack
from remit.errors import DeploymentError
from remit.models.scripted import ScriptedModel, ask
from remit.telemetry import names
from remit.telemetry.provider import endpoint, provider
from remit.telemetry.setup import set_up
from tests.command import home

ROOT = Path(__file__).parent.parent


def test_the_example_prints_spans_and_metrics() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.telemetry"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(" {")[0] for line in lines if line.startswith("span ")] == [
        "span chat scripted", "span execute_tool local.price", "span chat scripted", "span chat scripted",
        "span invoke_agent clerk",
    ]  # fmt: skip
    (event,) = [line for line in lines if line.startswith("  event remit.call.not_run")]
    assert "'gen_ai.tool.name': 'local.order'" in event and "'remit.status': 'denied'" in event
    (told,) = [line for line in lines if line.startswith("metrics ")]
    assert "gen_ai.execute_tool.duration" in told and "12 EUR" not in told + event


def test_the_example_says_what_is_missing() -> None:
    code = "import runpy, sys; sys.modules['opentelemetry.sdk'] = None; runpy.run_module('examples.telemetry')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and 'pip install "remit[telemetry]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_exports_where_remit_toml_says_so(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    path = made.folder / "remit.toml"
    path.write_text(path.read_text() + '\n[telemetry]\nexport = "console"\n')
    made.remit("trust", "--yes")
    ran = made.program("call", "good.add", '{"a": 2, "b": 3}')
    assert ran.out.strip() == "5.0"
    assert '"name": "execute_tool good.add"' in ran.err and "gen_ai.execute_tool.duration" in ran.err
    assert '"service.name": "remit"' in ran.err
    (record, *_) = made.remit("log", "list", "--event", "call.finished", "--json").json
    assert f'"trace_id": "0x{record["trace"]}"' in ran.err


def test_a_cell_is_told_the_trace_of_its_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = tmp_path / "good"
    shutil.copytree(ROOT / "tests/packs/good", pack)
    code = pack / "remit_test_good/skills.py"
    code.write_text(
        code.read_text().replace("return f\"{ctx.settings['greeting']}, {name}\"", "return ctx.traceparent")
    )
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    with try_pack(pack) as deployment:
        for configured in (False, True):
            if configured:
                monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", tracers)
            with Agent(deployment, model=ScriptedModel([ask("good.greet", name="x"), "."])) as agent:
                told = agent.run("go").calls[0]
            assert told.status == "ok", told
            spans = {span.name: span.context for span in exporter.get_finished_spans()}
            if not configured:
                assert told.value == "" and not spans
                continue
            tool = spans["execute_tool good.greet"]
            assert told.value.startswith(f"00-{tool.trace_id:032x}-{tool.span_id:016x}-")
    tracers.shutdown()


def test_content_is_exported_redacted_where_a_deployment_opts_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", tracers)
    with try_pack(ROOT / "tests/packs/good") as deployment:
        config = deployment.config
        telemetry = config.telemetry.model_copy(update={"content": True, "older_metrics": False})
        deployment.config = config.model_copy(update={"telemetry": telemetry})
        script = [ask("good.greet", name="Ada, password: hunter2"), "Hello Ada."]
        with Agent(deployment, model=ScriptedModel(script)) as agent:
            agent.run("Greet me.")
    tracers.shutdown()
    spans = {span.name: dict(span.attributes or {}) for span in exporter.get_finished_spans()}
    tool, chat = spans["execute_tool good.greet"], spans["chat scripted"]
    assert json.loads(str(tool["gen_ai.tool.call.arguments"])) == {"name": "Ada, password: [redacted: key]"}
    assert tool["gen_ai.tool.call.result"] == "Hello, Ada, password: [redacted: key]"
    messages = json.loads(str(chat["gen_ai.input.messages"]))
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[1] == {"role": "user", "parts": [{"type": "text", "content": "Greet me."}]}
    assert messages[3]["parts"][0]["type"] == "tool_call_response"
    assert json.loads(str(chat["gen_ai.output.messages"]))[0]["parts"][0]["content"] == "Hello Ada."
    assert "hunter2" not in json.dumps(spans, default=str)


@pytest.mark.parametrize(
    ("url", "name", "port"),
    [
        ("https://api.openai.com/v1/chat/completions", "openai", 443),
        ("https://api.mistral.ai/v1/chat/completions", "mistral_ai", 443),
        ("http://127.0.0.1:11434/v1/chat/completions", "openai", 11434),
        ("https://mymistral.ai/v1", "openai", 443),
        ("", "custom", 0),
    ],
)
def test_whose_model_it_is_follows_from_its_endpoint(url: str, name: str, port: int) -> None:
    model = ScriptedModel([])
    model.url = url  # type: ignore[attr-defined]
    assert provider(model) == name
    assert endpoint(model).get("server.port", 0) == port


def test_an_exporter_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(DeploymentError, match="opentelemetry-exporter-otlp-proto-http"):
        set_up("otlp")


def test_a_program_that_configured_it_itself_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tracers = TracerProvider()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", tracers)
    assert not set_up("console")
    tracers.shutdown()


def test_importing_remit_imports_no_opentelemetry() -> None:
    code = "import sys, remit, remit.agent, remit.cli.main; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "False", done.stderr


def test_the_page_on_telemetry_names_everything_that_is_exported() -> None:
    page = (ROOT / "docs/telemetry.md").read_text(encoding="utf-8")
    exported = [value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)]
    code = (ROOT / "core/remit/telemetry/instruments.py").read_text(encoding="utf-8")
    exported += re.findall(r'"((?:gen_ai|remit)\.[a-z_.]+)"', code)
    assert len(exported) > 50
    for name in exported:
        assert f"`{name}`" in page, name
