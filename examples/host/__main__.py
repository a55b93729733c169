"""A program that embeds Remit: its own function beside the skills of a pack, one run, every event as it happens.

    python -m examples.host

It needs no endpoint: a scripted model stands in for one. The pack is the one in `examples/pack`, tried from its folder.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from remit import Agent, ScriptedModel, skill
from remit.deployment.try_pack import try_pack
from remit.models.scripted import ask

PACK = Path(__file__).parent.parent / "pack" / "remit-greet"


@skill(effect="read")
def initials(name: str) -> str:
    """Return the initials of a name. Use it when the user asks for initials.

    Args:
        name: first and last name.
    """
    return "".join(word[0] for word in name.split()).upper()


async def main() -> None:
    """Call a skill of the pack (confined) and a function of this program (not confined), then answer."""
    greeting = ScriptedModel([ask("greet.hello", name="Ada Lovelace", times=2), "Greeted twice."])
    with try_pack(PACK) as deployment, Agent(deployment, model=greeting) as agent:
        async for event in agent.stream("Greet Ada Lovelace twice."):
            print(type(event).__name__)
        print(agent.skills["greet.hello"].confined)

    letters = ScriptedModel([ask("local.initials", name="Ada Lovelace"), "The initials are AL."])
    with Agent(skills=[initials], model=letters) as agent:
        result = await agent.arun("What are the initials of Ada Lovelace?")
        print(result.answer, [call.value for call in result.calls], agent.skills["local.initials"].confined)


if __name__ == "__main__":
    asyncio.run(main())
