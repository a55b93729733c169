"""docs/memory.md: its tables are a configuration, and its rule does what it says."""

from __future__ import annotations

import re
from pathlib import Path

from remit.models.scripted import ask
from tests.memory_parts import agent, remembering_place

PAGE = (Path(__file__).parent.parent / "docs/memory.md").read_text(encoding="utf-8")
MEMORY, RULE = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_tables_of_the_page_hold(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    place.edit("[memory]\nfacts = true\n", MEMORY)
    with place.open() as deployment:
        memory = deployment.config.memory
    assert memory.facts and {name: slot.type for name, slot in memory.slots.items()} == {
        "home_city": "text",
        "born": "date",
        "children": "number",
        "likes": "list",
    }


def test_the_rule_of_the_page_denies_what_it_names(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    path = place.folder / "remit.toml"
    path.write_text(f"{path.read_text()}\n{RULE}")
    place.edit("facts", "facts")
    script = [ask("remit.remember_fact", name=name, value="x") for name in ("diagnosis", "home_city")]
    with agent(place, [*script, "Done."]) as made:
        calls = made.run("Remember that.").calls
    assert [call.status for call in calls] == ["denied", "ok"]


def test_the_page_names_the_skills_and_events() -> None:
    for name in ("remember_fact", "forget_fact", "memory.remembered", "memory.forgotten", "memory.loaded"):
        assert name in PAGE
