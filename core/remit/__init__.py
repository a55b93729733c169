"""Remit: skill packs for language-model agents, each held to its permission.

The names below are imported when they are first used, so that `import remit` stays light.

PYTEST_DONT_REWRITE: importing this before pytest starts is no mistake, although its plugin lies here.
"""

from __future__ import annotations

# Type checkers take this name for true; importing it from `typing` would double the time of `remit --version`.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from remit.agent import Agent as Agent
    from remit.delegation.spec import AgentSpec as AgentSpec
    from remit.deployment.deployment import Deployment as Deployment
    from remit.errors import RemitError as RemitError
    from remit.local_skills import skill as skill
    from remit.loop.guards import Limits as Limits
    from remit.loop.outcome import RunResult as RunResult
    from remit.models.openai import OpenAIModel as OpenAIModel
    from remit.models.protocol import Model as Model
    from remit.models.scripted import ScriptedModel as ScriptedModel
    from remit.values import Call as Call
    from remit.values import Result as Result

__version__ = "0.1.0"

_HOMES = {
    "Agent": "remit.agent",
    "AgentSpec": "remit.delegation.spec",
    "Call": "remit.values",
    "Deployment": "remit.deployment.deployment",
    "Limits": "remit.loop.guards",
    "Model": "remit.models.protocol",
    "OpenAIModel": "remit.models.openai",
    "RemitError": "remit.errors",
    "Result": "remit.values",
    "RunResult": "remit.loop.outcome",
    "ScriptedModel": "remit.models.scripted",
    "skill": "remit.local_skills",
}

__all__ = [
    "Agent",
    "AgentSpec",
    "Call",
    "Deployment",
    "Limits",
    "Model",
    "OpenAIModel",
    "RemitError",
    "Result",
    "RunResult",
    "ScriptedModel",
    "__version__",
    "skill",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
