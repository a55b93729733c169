"""A pack under test: calls through the whole pipeline, and what happened in them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.errors import UsageError
from remit.models.wire import wire_schema
from remit.packs.installed import InstalledPack
from remit.pipeline.events import PipelineEvent
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from remit_sandbox.signoff import SignoffDecision, SignoffRequest

if TYPE_CHECKING:
    from remit.authoring.findings import Report
    from remit.deployment.deployment import Deployment
    from remit.skills import Skill
    from remit_sandbox import Sandbox
    from remit_sandbox.broker import NetworkEvent


class Failed(AssertionError):
    """A call that did not end `ok` although the test asked for its value; shows the pack's own lines."""


class TriedPack:
    """A pack that is open for a test; `remit.testing.pack` makes it.

    Attributes:
        name: the pack's name.
        skills: short name to skill, as a deployment sees it.
        left_out: why skills are missing, one line each.
        workspace: the folder behind `${workspace}`.
        progress: what handlers reported, in order, over all calls.
        output: what they printed, over all calls; empty without cells.
        network: what cells asked of the network, allowed or not, over all calls.
        asked: what a person would have been asked to sign off.
    """

    def __init__(
        self,
        deployment: Deployment,
        *,
        sandbox: Sandbox,
        network: list[NetworkEvent],
        approve: bool | Callable[[SignoffRequest], bool],
        source: Path | InstalledPack,
    ) -> None:
        """Set up a pipeline over an open deployment; use `remit.testing.pack`."""
        self.deployment = deployment
        self._source = source
        (self.name,) = deployment.assembled.packs
        self.skills: Mapping[str, Skill] = {one.name: one for one in deployment.skills.values() if one.confined}
        self.left_out: tuple[str, ...] = tuple(problem.reason for problem in deployment.problems)
        self.workspace: Path = deployment.workspace
        self.progress: list[str] = []
        self.output = ""
        self.network = network
        self.asked: list[SignoffRequest] = []
        self._numbers = itertools.count(1)
        self._approve = approve
        self._state = State(deployment.state_folder)
        self._pipeline = Pipeline(
            skills=deployment.skills,
            rules=deployment.rules,
            state=self._state,
            sandbox=sandbox,
            approver=_Approver(self) if approve is not False else None,
            unattended="deny",
            principal=deployment.principal,
            read_only=deployment.read_only,
            on_event=self._hear,
        )

    def call(self, skill: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> Result:
        """Call a skill through the whole pipeline and return its result, whatever its status.

        Args:
            skill: its name, alone or with the pack's.
            arguments: as a mapping, or JSON text exactly as a model would write it.
            named: the arguments, instead of `arguments`.

        Raises:
            UsageError: both are given, or an argument is nothing that JSON holds; never for what the pack does.
        """
        return asyncio.run(self.acall(skill, arguments, **named))

    async def acall(self, skill: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> Result:
        """As `call`, in a test that is a coroutine."""
        text = arguments if isinstance(arguments, str) else _json(arguments, named)
        full = skill if "." in skill or "__" in skill else f"{self.name}.{skill}"
        call = Call(id=f"c{next(self._numbers)}", skill=full, arguments=text, session="test", step=1)
        return await self._pipeline.call(call)

    def value(self, skill: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> Any:
        """Call a skill that has to end `ok`, and return its value.

        Raises:
            Failed: it ended otherwise; the message holds the reason and the pack's own lines.
        """
        result = self.call(skill, arguments, **named)
        if result.status != "ok":
            raise Failed(f"{result.skill} ended {result.status}: {result.text}\n{result.traceback}".rstrip())
        return result.value

    def schema(self, skill: str) -> dict[str, Any]:
        """Return the arguments of a skill as a model sees them."""
        return wire_schema(self._known(skill).schema)[0]

    def description(self, skill: str) -> str:
        """Return the description of a skill as a model reads it."""
        return self._known(skill).description

    def read(self, handle: str) -> bytes:
        """Return the bytes behind a handle that a result of this pack holds.

        Raises:
            UsageError: there is no such handle.
        """
        blob = self._state.get_blob(handle, session="test")
        if blob is None:
            raise UsageError(f"there is no handle {handle!r} in this test")
        return blob.data

    def check(self) -> Report:
        """Run the conformance kit on this pack, as `remit packs check` does."""
        from remit.authoring.check import check_pack

        return check_pack(self._source)

    def close(self) -> None:
        """End its cells and remove what was made for the test. Calling it again does nothing."""
        self._state.close()
        self.deployment.close()

    def _known(self, skill: str) -> Skill:
        name = skill.rpartition(".")[2]
        if name not in self.skills:
            missing = f" ({'; '.join(self.left_out)})" if self.left_out else ""
            raise UsageError(f"pack {self.name} has no skill {name!r}; it has {', '.join(self.skills)}{missing}")
        return self.skills[name]

    def _hear(self, event: PipelineEvent) -> None:
        if event.kind == "progress":
            self.progress.append(event.text)
        elif event.kind == "output":
            self.output += event.text

    def _answer(self, request: SignoffRequest) -> bool:
        self.asked.append(request)
        return self._approve if isinstance(self._approve, bool) else self._approve(request)


class _Approver:
    """Signs off, or refuses, as the test says."""

    apart = True

    def __init__(self, tried: TriedPack) -> None:
        self._tried = tried

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        yes = self._tried._answer(request)
        return SignoffDecision(answer="once" if yes else "deny", digest=request.digest, by="the test")


def _json(arguments: Mapping[str, Any] | None, named: Mapping[str, Any]) -> str:
    if arguments is not None and named:
        raise UsageError("give the arguments as one mapping, or by name, not both")
    try:
        return json.dumps(dict(arguments or named), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the arguments are nothing that a model could write: {error}") from None
