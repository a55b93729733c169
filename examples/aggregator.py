"""An aggregator: one question to several agents at the same time, and one answer out of theirs.

    python -m examples.aggregator

The model is played by a script, so that this runs anywhere; `panel` works with a real one, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit import Agent, AgentSpec, Model, ScriptedModel, skill
from remit.loop.events import Delegated, Event, RunEnded
from remit.models.protocol import ModelRequest
from remit.models.scripted import Line, ask

OFFERS: Mapping[str, Mapping[str, float]] = {
    "north": {"lamp": 40.0, "desk": 210.0},
    "south": {"lamp": 35.5, "desk": 250.0},
    "west": {"lamp": 42.0},
}


@skill(effect="read", labels=())
def price(shop: str, item: str) -> float:
    """What an item costs in a shop.

    Args:
        shop: north, south or west.
        item: lamp or desk.
    """
    if item not in OFFERS[shop]:
        raise ValueError(f"{shop} has no {item}")
    return OFFERS[shop][item]


def panel(model: Model) -> Agent:
    """Return an agent that asks one agent for each shop, all of them in one turn."""
    askers = [
        AgentSpec(name=shop, description=f"Knows the prices of the shop {shop}.", skills=["local.price"])
        for shop in OFFERS
    ]
    return Agent(model=model, skills=(price,), agents=askers)


def cheapest(item: str, model: Model | None = None, heard: list[Event] | None = None) -> str:
    """Return where an item is cheapest; `heard` gets every event."""
    events = heard if heard is not None else []
    with panel(model or ScriptedModel(played)) as agent:
        return agent.run(f"Where is a {item} cheapest?", on_event=events.append).answer


def played(request: ModelRequest) -> Line:
    """Play the model of whichever agent asks."""
    system, last = request.messages[0].content, request.messages[-1]
    shop = next((name for name in OFFERS if f"You are the agent {name}" in system), "")
    item = next(item for item in ("lamp", "desk") if any(item in message.content for message in request.messages))
    if shop:
        return last.content if last.role == "tool" else ask("local.price", shop=shop, item=item)
    if last.role != "tool":
        return [ask("remit.delegate", agent=name, task=f"What does a {item} cost?") for name in OFFERS]
    found = dict(zip(OFFERS, (message.content for message in request.messages if message.role == "tool"), strict=True))
    prices = {name: float(text) for name, text in found.items() if text.replace(".", "", 1).isdigit()}
    best = min(prices, key=lambda name: prices[name])
    return f"A {item} is cheapest in {best}, at {prices[best]:g}; {len(prices)} of {len(found)} shops have one."


def finished(events: list[Event]) -> list[str]:
    """Return the agents in the order in which they were done."""
    return [one.agents[0] for one in events if isinstance(one, Delegated) and isinstance(one.inner, RunEnded)]


if __name__ == "__main__":
    told: list[Event] = []
    print(cheapest("desk", heard=told))
    print("asked:", ", ".join(finished(told)))
