"""The demo: what it prints first, what it answers, and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from examples.demo.rehearsal import reply

from remit import Agent, ScriptedModel, skill

ROOT = Path(__file__).parent.parent


def test_the_demo_plays_three_questions() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--rehearse"], cwd=ROOT, capture_output=True, text=True, timeout=110
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0].startswith("Model: rehearsed")
    assert lines[1].startswith(("Enforced by", "NOT enforced"))
    assert "3 of 3 answered" in done.stdout
    assert "28.3 degrees" in done.stdout
    assert "The file is still there" in done.stdout
    assert lines[-1].startswith("Next, a deployment of your own: ") and lines[-1].endswith("remit init")
    if (activate := Path(sys.executable).with_name("activate")).is_file():
        assert f". {os.path.relpath(activate, ROOT)} && " in lines[-1]


def test_the_rehearsed_model_works_from_what_it_is_given() -> None:
    """Other figures and another city give another answer: nothing is looked up in a table."""

    @skill(effect="read")
    def weather(city: str) -> dict[str, object]:
        """Weather."""
        return {"city": city, "temperature": 36.0}

    @skill(effect="read")
    def evaluate(expression: str) -> dict[str, str]:
        """Calculate."""
        assert expression == "percent_change(30, 36)"
        return {"result": "20"}

    def renamed(request: object) -> object:
        import dataclasses

        from remit.models.protocol import ModelReply, ModelRequest

        assert isinstance(request, ModelRequest)
        names = {"local__weather": "weather__get_weather", "local__evaluate": "calc__evaluate"}
        back = {new: old for old, new in names.items()}

        def with_names(message: object, table: dict[str, str]) -> object:
            calls = tuple(dataclasses.replace(c, name=table.get(c.name, c.name)) for c in message.calls)  # type: ignore[attr-defined]
            return dataclasses.replace(message, calls=calls)  # type: ignore[type-var]

        seen = dataclasses.replace(request, messages=tuple(with_names(m, names) for m in request.messages))  # type: ignore[arg-type]
        answer: ModelReply = reply(seen)
        return with_names(answer, back)

    with Agent(skills=[weather, evaluate], model=ScriptedModel(renamed)) as agent:  # type: ignore[arg-type]
        result = agent.run("上海今天气温多少度？如果比 30 度高，帮我算一下高了百分之几。")
    assert result.answer == "上海今天气温 36 度，比 30 度高 20%。"
