"""Runs parts of a pack under observation: the import in a cell without rights, an example in a cell with its own.

A cell of its own each time, confined as a deployment would have it. For the import its pack is `remit_probe`, which
imports the pack that is checked. The network is never reached: what is asked for is written down and refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.skills import Skill
from remit_sandbox.errors import SandboxError
from remit_sandbox.values import CellSpec, Isolation, Limits, Reply, Rights

if TYPE_CHECKING:
    from remit_sandbox import Sandbox
    from remit_sandbox.broker import NetworkEvent

PROBE = "remit_probe"
_INSIDE = Path(__file__).parent / "inside"
_NOWHERE = "remit.invalid:1"
_IMPORT_SECONDS = 20.0
_MOST = 5_000

Events = list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What was seen.

    Attributes:
        status: `ok`, or how the request to the cell ended; see `ReplyKind`.
        error: one line about what went wrong.
        events: kind and what, as `remit_sandbox.inside.observe` has them; for an import also where in the source.
        seconds: of the import.
        network: what was asked of the network.
    """

    status: str
    error: str = ""
    events: Events
    seconds: float = 0.0
    network: tuple[NetworkEvent, ...] = ()


class Watching:
    """Observes one pack.

    Args:
        sandbox: whose `on_network` appends to `network`.
        network: what was asked for.
        spec: a cell of the pack, for its package and paths.
    """

    def __init__(self, sandbox: Sandbox, network: list[NetworkEvent], spec: CellSpec) -> None:
        self._sandbox = sandbox
        self._network = network
        self._spec = spec

    def imported(self, modules: Iterable[str]) -> Watched:
        """Import the pack and the modules of its handlers in a cell without any right."""
        spec = replace(
            self._spec,
            package=PROBE,
            location=str(_INSIDE),
            digests={},
            paths=(str(self._spec.location), *self._spec.paths),
            rights=Rights(net=(_NOWHERE,), limits=Limits(output=64 * 1024)),
            secrets={},
            workspace=None,
            data=None,
            cwd=None,
            isolation="fresh",
        )
        package = self._spec.package
        body = {"package": package, "modules": sorted(set(modules)), "folder": f"{self._spec.location}/{package}"}
        asked = {"handler": f"{PROBE}:watch_import", "arguments": json.dumps(body).encode(), "context": {}}
        before = len(self._network)
        try:
            cell = self._sandbox.cell(spec)
            try:
                reply = cell.request("call", asked, timeout=_IMPORT_SECONDS)
            finally:
                cell.kill()
        except SandboxError as error:
            return Watched(status="died", error=str(error), events=[])
        return _read(reply, tuple(self._network[before:]))

    def called(self, skill: Skill, arguments: Mapping[str, Any]) -> Watched:
        """Call a skill's handler and post-hook with the rights that a deployment gives at most."""
        assert skill.cell is not None
        text = json.dumps(arguments, ensure_ascii=False).encode()
        isolation: Isolation = "process" if skill.cell.rights.exec else "fresh"
        before = len(self._network)
        try:
            cell = self._sandbox.cell(replace(skill.cell, observe=True, isolation=isolation))
            try:
                asked = {"handler": skill.handler, "arguments": text, "context": {}}
                reply = cell.request("call", asked, timeout=skill.timeout)
                if reply.kind == "result" and skill.after:
                    looked_at = {"skill": skill.full, "arguments": text}
                    hook = {"after": skill.after, "call": looked_at, "result": reply.text, "context": {}}
                    reply = cell.request("after", hook, timeout=skill.timeout)
            finally:
                cell.kill()
        except SandboxError as error:
            return Watched(status="died", error=str(error), events=[])
        status = "ok" if reply.kind == "result" else reply.kind
        seen = tuple(self._network[before:])
        return Watched(status=status, error=_why(reply), events=_pairs(reply.observed), network=seen)


def _read(reply: Reply, network: tuple[NetworkEvent, ...]) -> Watched:
    """Take the probe's answer apart: the pack ran beside it, so that it is as hostile as any other."""
    if reply.kind != "result":
        return Watched(status="died", error=_why(reply), events=[], network=network)
    told = _parsed(reply.text)
    told = told if isinstance(told, dict) else {}
    seconds = told.get("seconds", 0.0)
    return Watched(
        status="ok",
        error=str(told.get("error", ""))[:500],
        events=_lists(told.get("events"), 3),
        seconds=min(float(seconds), _IMPORT_SECONDS) if isinstance(seconds, float) else 0.0,
        network=network,
    )


def _pairs(observed: bytes) -> Events:
    """Return what an observed cell says: pairs of what was done, and to what."""
    return _lists(_parsed(observed), 2)


def _lists(value: object, length: int) -> Events:
    entries = value[:_MOST] if isinstance(value, list) else []
    return [[str(part) for part in one] for one in entries if isinstance(one, list) and len(one) == length]


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text or b"[]")
    except (ValueError, RecursionError):
        return []


def _why(reply: Reply) -> str:
    return reply.error or "; ".join(f"{one.path}: {one.message}" for one in reply.errors) or ""
