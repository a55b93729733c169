"""Parts for tests of delegation: scripted models that know which agent they are, and skills that remember."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit import Agent, AgentSpec, ScriptedModel
from remit.models.protocol import ModelRequest
from remit.models.scripted import Line, ask

_WHO = re.compile(r"You are the agent ([a-z][a-z0-9_-]*):")
Turn = Line | Callable[[ModelRequest], Line]


def who(request: ModelRequest) -> str:
    """The agent that asks: `top` for the one that a person asked."""
    found = _WHO.search(request.messages[0].content)
    return found[1] if found else "top"


def last(request: ModelRequest) -> str:
    """The last that the model is told."""
    return request.messages[-1].content


class Cast:
    """A model for several agents: each has a script of its own, and goes on in it with every turn."""

    def __init__(self, **scripts: Iterable[Turn]) -> None:
        self._scripts = {name: iter(script) for name, script in scripts.items()}
        self.asked: list[str] = []
        self.requests: dict[str, list[ModelRequest]] = {}

    def __call__(self, request: ModelRequest) -> Line:
        name = who(request)
        self.asked.append(name)
        self.requests.setdefault(name, []).append(request)
        line = next(self._scripts[name], f"{name} has nothing more to say")
        return line(request) if callable(line) else line


def give(agent: str, task: str = "do it") -> Any:
    """A call that gives a task."""
    return ask("remit.delegate", agent=agent, task=task)


def spec(name: str, **options: Any) -> AgentSpec:
    return AgentSpec(name=name, **{"description": f"Does what {name} does.", **options})


def bot(cast: Callable[[ModelRequest], Line], *functions: Any, agents: Iterable[AgentSpec], **options: Any) -> Agent:
    return Agent(model=ScriptedModel(cast), skills=functions, agents=tuple(agents), **options)


def records(agent: Agent, event: str, session: str | None = None) -> list[Mapping[str, Any]]:
    return [record.body for record in agent.state.records(event=event, session=session)]
