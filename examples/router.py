"""A router: one agent reads the question and gives it to the specialist that fits.

The router has no skills of its own, so that all it can do is choose. Each specialist has only what it needs.

    python -m examples.router "How many grams are 3 pounds?"

The model is played by a script, so that this runs anywhere; `specialists` and `router` work with a real one, too.
"""

from __future__ import annotations

import re
import sys

from remit import Agent, AgentSpec, Model, ScriptedModel, skill
from remit.models.protocol import ModelRequest
from remit.models.scripted import Line, ask

GRAMS = {"pounds": 453.59237, "ounces": 28.349523125, "stone": 6350.29318}
STOCK = {"lamp": 12, "chair": 0, "desk": 3}


@skill(effect="read", labels=())
def grams(amount: float, unit: str) -> float:
    """Convert a weight to grams.

    Args:
        amount: how much.
        unit: pounds, ounces or stone.
    """
    return round(amount * GRAMS[unit], 3)


@skill(effect="read", labels=())
def in_stock(item: str) -> int:
    """How many of an item there are."""
    return STOCK.get(item, 0)


def specialists() -> list[AgentSpec]:
    """Return those that the router chooses among."""
    return [
        AgentSpec(name="units", description="Converts weights.", skills=["local.grams"]),
        AgentSpec(name="shop", description="Knows what is in stock.", skills=["local.in_stock"]),
    ]


def router(model: Model) -> Agent:
    """Return an agent that can do nothing but delegate; its skills are what it can give to those that it asks."""
    prompt = "Give the question to the agent that fits, word for word, and answer with what it says."
    return Agent(model=model, skills=(grams, in_stock), agents=specialists(), only_delegates=True, prompt=prompt)


def answered(question: str, model: Model | None = None) -> str:
    """Return the answer to a question."""
    with router(model or ScriptedModel(played)) as agent:
        return agent.run(question).answer


def played(request: ModelRequest) -> Line:
    """Play the model of whichever agent asks: the router looks for a word, a specialist calls its skill."""
    last, system = request.messages[-1], request.messages[0].content
    if last.role == "tool":
        return last.content if "You are the agent" not in system else f"It is {last.content}."
    if "You are the agent units" in system:
        found = re.search(r"([\d.]+) (pounds|ounces|stone)", last.content)
        return ask("local.grams", amount=float(found[1]), unit=found[2]) if found else "I see no weight."
    if "You are the agent shop" in system:
        return ask("local.in_stock", item=next((item for item in STOCK if item in last.content), ""))
    units = any(unit in last.content for unit in GRAMS)
    return ask("remit.delegate", agent="units" if units else "shop", task=last.content)


if __name__ == "__main__":
    print(answered(" ".join(sys.argv[1:]) or "How many grams are 3 pounds?"))
