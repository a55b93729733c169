"""Cases from the field: the shared file of them, and one pack whose skills are their functions.

Each function is a module of a real pack, opened as an author would try it; a call goes through the
whole pipeline into a real cell.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from remit.agent import Agent
from remit.deployment.deployment import Deployment
from remit.deployment.try_pack import try_pack
from remit.models.wire import wire_schema
from remit.pipeline.events import PipelineEvent
from remit.pipeline.pipeline import Pipeline
from remit.skills import Skill
from remit.state.store import State
from remit.values import Call, Result
from tests.model_server import serve, text

DATA = Path(__file__).parent / "data" / "field.jsonl"
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in map(json.loads, DATA.read_text("utf-8").splitlines())}

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "remit-field"
version = "1.0.0"
[project.entry-points."remit.packs"]
field = "remit_field"
"""


def area(name: str) -> set[str]:
    """Return the ids of the cases of one area."""
    return {id_ for id_, case in CASES.items() if case["area"] == name}


def given(id_: str) -> dict[str, Any]:
    """Return the input of a case."""
    found: dict[str, Any] = CASES[id_]["input"]
    return found


def functions(name: str) -> dict[str, str]:
    """Return the sources of an area's functions by the name of their skill."""
    return {id_.lower(): given(id_)["source"] for id_ in sorted(area(name)) if given(id_)["kind"] == "python"}


def is_whole(holds: Mapping[str, str], tests: Mapping[str, Any], *areas: str) -> bool:
    """Tell whether a table names exactly the cases of these areas, and a test of its own stands for each."""
    wanted = set().union(*map(area, areas))
    tested = {name.split("_")[1].upper() for name in tests if name.startswith("test_l")}
    return set(holds) == wanted == tested and all(holds.values())


def write_pack(
    folder: Path, sources: Mapping[str, str], tables: Mapping[str, str] | None = None, permissions: str = ""
) -> Path:
    """Write a pack with a module for each source, whose skill is its function `tool`.

    Args:
        folder: where the project goes.
        sources: name of the skill to the text of its module.
        tables: name of the skill to the lines of its `[[skill]]` table, instead of `effect = "read"`.
        permissions: lines of the `[permissions]` table.
    """
    package = folder / "src" / "remit_field"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").write_text('"""Cases from the field."""\n')
    manifest = ['manifest = 1\n[pack]\nname = "field"\nsummary = "Cases from the field"\n[permissions]', permissions]
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
        lines = (tables or {}).get(name, 'effect = "read"')
        manifest.append(f'[[skill]]\nname = "{name}"\nhandler = "remit_field.{name}:tool"\n{lines}')
    (package / "pack.toml").write_text("\n".join(manifest) + "\n")
    return folder


@dataclass(frozen=True, kw_only=True)
class Field:
    """The pack, open, with a pipeline; `events` is what the pipeline told, oldest first."""

    deployment: Deployment
    pipeline: Pipeline
    state: State
    events: list[PipelineEvent] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def ask(self, name: str, arguments: Any = None, /, **named: Any) -> Result:
        """Call the skill of a case (`L41`), of a variant, or of a full name, with the case's arguments or others."""
        if named or not (arguments is None or isinstance(arguments, str)):
            arguments = json.dumps(named or arguments)
        if arguments is None:
            arguments = given(name)["arguments"]
        skill = name if "." in name else f"field.{name.lower()}"
        call = Call(id=f"c{next(self.numbers)}", skill=skill, arguments=arguments, session="s")
        return asyncio.run(self.pipeline.call(call))

    def skill(self, name: str) -> Skill:
        """Return the skill of a case or variant."""
        return self.deployment.skills[f"field.{name.lower()}"]

    def wire(self, name: str, *, strict: bool = False) -> dict[str, Any]:
        """Return the parameters that an endpoint is sent for it."""
        return wire_schema(self.skill(name).schema, strict=strict)[0]

    def printed(self) -> str:
        """Return what skills have printed since this was last asked."""
        printed = "".join(event.text for event in self.events if event.kind == "output")
        self.events.clear()
        return printed

    def sent(self) -> dict[str, dict[str, Any]]:
        """Return what a real endpoint was sent of each skill, by wire name."""
        with serve([text("done")]) as server, Agent(self.deployment, model="m", base_url=server.base_url) as agent:
            agent.run("go")
        return {tool["function"]["name"]: tool["function"] for tool in server.bodies[0]["tools"]}

    def refused(self, name: str) -> str:
        """Return why a skill was left out, empty when it was not."""
        reasons = (problem.reason for problem in self.deployment.problems)
        return next((reason for reason in reasons if reason.startswith(f"skill {name.lower()}:")), "")


@contextmanager
def opened(
    folder: Path, sources: Mapping[str, str], tables: Mapping[str, str] | None = None, permissions: str = ""
) -> Iterator[Field]:
    """Write the pack and open it, confined as far as this machine can."""
    project = write_pack(folder / "project", sources, tables, permissions)
    with try_pack(project, enforcement="available") as deployment, State(deployment.state_folder) as state:
        events: list[PipelineEvent] = []
        pipeline = Pipeline(
            skills=deployment.skills,
            rules=deployment.rules,
            state=state,
            sandbox=deployment.sandbox,
            unattended="deny",
            on_event=events.append,
        )
        yield Field(deployment=deployment, pipeline=pipeline, state=state, events=events)
