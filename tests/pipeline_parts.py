"""Parts for tests of the pipeline: skills of fixture packs in real cells, functions of the host, approvers."""

from __future__ import annotations

import asyncio
import itertools
import json
import site
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from remit.packs.schema import accept_schema
from remit.pipeline.events import PipelineEvent
from remit.pipeline.pipeline import Pipeline
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.state.store import State
from remit.values import Call, Result
from remit_sandbox import Cell, CellSpec, Rights, Sandbox
from remit_sandbox.inside.describe import describe_function
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffRequest
from remit_sandbox.supervisor.client import Client
from tests.packaging import build_site

_numbers = itertools.count(1)


class Person:
    """Answers every question alike and remembers what was asked."""

    apart = False

    def __init__(self, answer: Answer = "once", reason: str = "") -> None:
        self.answer, self.reason = answer, reason
        self.asked: list[SignoffRequest] = []

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        self.asked.append(request)
        return SignoffDecision(answer=self.answer, digest=request.digest, reason=self.reason, by="ann")


class Bench:
    """A pipeline over given skills with a state of its own, and what happened in it."""

    def __init__(
        self,
        folder: Path,
        *skills: Skill,
        sandbox: Sandbox | None = None,
        rules: list[dict[str, Any]] | None = None,
        defaults: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.skills = {skill.full: skill for skill in skills}
        self.state = State(folder / "remit-state")
        self.events: list[PipelineEvent] = []
        self.rules = Rules.load(
            [RuleConfig.model_validate(rule) for rule in rules or []],
            DefaultsConfig.model_validate(defaults or {}),
            skills=self.skills,
        )
        self.pipeline = Pipeline(
            skills=self.skills,
            rules=self.rules,
            state=self.state,
            sandbox=sandbox,
            on_event=self.events.append,
            **options,
        )

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.state.close()

    def call(self, name: str, _session: str = "s", /, **arguments: Any) -> Result:
        return asyncio.run(self.pipeline.call(call(name, _session, **arguments)))

    def text(self, name: str, arguments: str, **options: Any) -> Result:
        wanted = replace(call(name), arguments=arguments, **options)
        return asyncio.run(self.pipeline.call(wanted))

    def many(self, *calls: Call) -> tuple[Result, ...]:
        return asyncio.run(self.pipeline.call_many(calls))

    def log(self, event: str | None = None) -> list[str]:
        return [record.event for record in self.state.records(event=event)]


def call(name: str, session: str = "s", /, **arguments: Any) -> Call:
    return Call(id=f"c{next(_numbers)}", skill=name, arguments=json.dumps(arguments), session=session)


def host_skill(function: Callable[..., Any], **options: Any) -> Skill:
    """Return a function of the host as a skill, its schema derived as for a pack."""
    described = describe_function(function)
    assert not described.error, described.error
    return Skill(
        pack="local",
        name=function.__name__,
        description=described.description,
        schema=accept_schema(described.schema),
        function=function,
        confined=False,
        **{"effect": "read", **options},
    )


def pack_skills(
    sandbox: Sandbox, folder: Path, name: str, *, rights: Rights | None = None, **options: Any
) -> dict[str, Skill]:
    """Return the skills of a fixture pack by short name, schemas derived in a cell without rights.

    The workspace is `folder/workspace`. What a test machine cannot enforce runs all the same.
    """
    where = build_site(folder, name)
    (manifest,) = where.glob(f"remit_test_{name.strip('_')}*/pack.toml")
    table = tomllib.loads(manifest.read_text())
    workspace = folder / "workspace"
    (workspace / "out").mkdir(parents=True, exist_ok=True)
    spec = CellSpec(
        pack=table["pack"]["name"],
        package=manifest.parent.name,
        paths=(str(where), *site.getsitepackages()),
        settings=table.get("settings", {}),
        workspace=str(workspace),
        cwd=str(workspace),
        enforcement="available",
    )
    handlers = {one["name"]: (one["handler"], one.get("after")) for one in table["skill"]}
    with sandbox.borrow(spec, "describe") as cell:
        described = cell.describe(handlers)
    skills = {}
    for one in table["skill"]:
        skills[one["name"]] = Skill(
            pack=spec.pack,
            name=one["name"],
            description=described[one["name"]].description,
            schema=accept_schema(described[one["name"]].schema),
            effect=one["effect"],
            impact=frozenset(one.get("impact", ())),
            handler=one["handler"],
            after=one.get("after"),
            timeout=one.get("timeout", 20.0),
            cell=replace(spec, rights=rights or Rights()),
            idempotent=one.get("idempotent", False),
            cache=one.get("cache", 0),
            hash=f"hash of {one['name']}",
            version="1.0",
            **options,
        )
    return skills


@contextmanager
def counted_cells(sandbox: Sandbox) -> Iterator[list[CellSpec]]:
    """Yield the specs of the cells that somebody waits for meanwhile, in order; spares do not count."""
    started: list[CellSpec] = []
    original = sandbox._new_cell

    def new_cell(spec: CellSpec, client: Client, **how: Any) -> Cell:
        if threading.current_thread().name != "remit-spares":
            started.append(spec)
        return original(spec, client, **how)

    sandbox._new_cell = new_cell  # type: ignore[method-assign]
    try:
        yield started
    finally:
        del sandbox._new_cell
