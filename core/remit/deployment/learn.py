"""Learning what a skill needs: run it under observation with wide rights, propose a table, run it with just that.

For authors, with code that they trust: the observed run may read nearly everything. What is seen is seen at
Python level, through audit events and the host's broker; the run that follows it is the proof.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit.deployment.needs import Ground, Needs, Seen, by_settings, needs
from remit.deployment.rights import resolve_right
from remit.deployment.skills import share_of
from remit.errors import PackError, RemitError, UsageError
from remit.packs.permissions import Permission
from remit.skills import Skill
from remit_sandbox.errors import CellStartError, SandboxError
from remit_sandbox.values import CellSpec, Isolation, Limits, Reply, Rights

if TYPE_CHECKING:
    from remit_sandbox import Sandbox

_PROCESSES = 64


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is observed, and with what.

    Attributes:
        skill: of a pack.
        arguments: JSON text.
        anchors: `workspace` and `data` to absolute real paths.
        write: further folders that may be written while it is observed.
        private_net: private addresses may be reached, too.
    """

    skill: Skill
    arguments: bytes
    anchors: Mapping[str, Path]
    write: Sequence[str] = ()
    private_net: bool = False

    @property
    def cell(self) -> CellSpec:
        """The spec of its cell."""
        if self.skill.cell is None:
            raise UsageError(f"{self.skill.full} runs in the host, where nothing is held; there is nothing to learn")
        return self.skill.cell


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What was found out.

    Attributes:
        needs: the proposed table.
        observed: how the observed run ended.
        verified: how the run with exactly that table ended; None when there was none.
        runs: how often the skill ran.
    """

    needs: Needs
    observed: Reply
    verified: Reply | None
    runs: int

    @property
    def passed(self) -> bool:
        """Whether it ended well with exactly what is proposed."""
        return self.verified is not None and self.verified.kind == "result"


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One run: the last answer, and what the host saw of the cell."""

    reply: Reply
    tmp: str
    hosts: tuple[str, ...]


def learn(subject: Subject, sandbox: Sandbox, tell: Callable[[str], None]) -> Learned:
    """Observe, propose and verify.

    Args:
        subject: what to run. It really runs, at least twice.
        sandbox: where its cells run.
        tell: is told what happens, a line at a time.

    Raises:
        PackError: the pack does not start.
        UsageError: the arguments do not fit.
    """
    tell("running it under observation")
    watched, seen, ground, runs = _observed(subject, sandbox)
    if watched.reply.kind == "invalid":
        raise UsageError("; ".join(f"{error.path}: {error.message}" for error in watched.reply.errors))
    proposal, verified = needs(seen, watched.hosts, ground), None
    for broad in (False, True) if watched.reply.kind == "result" else ():
        proposal = needs(seen, watched.hosts, ground, broad=broad)
        tell("running it with the proposed table and nothing else" + (", in whole folders" if broad else ""))
        verified, runs = _verified(subject, sandbox, proposal, seen), runs + 1
        if verified.kind == "result":
            break
    proposal = by_settings(proposal, subject.cell.settings)
    return Learned(needs=proposal, observed=watched.reply, verified=verified, runs=runs)


def _observed(subject: Subject, sandbox: Sandbox) -> tuple[_Run, Seen, Ground, int]:
    """Run with wide rights; once more when it failed and has asked for variables that are set here."""
    spec, runs = _wide(subject, {}), 1
    watched = _run(subject, sandbox, spec)
    seen = _read(watched.reply.observed)
    asked = {name: os.environ[name] for name in seen.get("env", ()) if name in os.environ}
    if watched.reply.kind == "failed" and asked:
        spec, runs = _wide(subject, asked), 2
        watched = _run(subject, sandbox, spec)
        seen = _read(watched.reply.observed)
    return watched, seen, Ground(anchors=subject.anchors, tmp=watched.tmp, always=_always(spec)), runs


def _wide(subject: Subject, env: Mapping[str, str]) -> CellSpec:
    cell, workspace = subject.cell, str(subject.anchors["workspace"])
    folders = [*map(str, subject.anchors.values()), *subject.write]
    rights = Rights(
        read=("/**",),
        write=tuple(f"{os.path.realpath(folder)}/**" for folder in folders),
        net=("*:*",),
        private_net=("*:*",) if subject.private_net else (),
        exec=("/**",),
        shm=_has_own_memory(),
        env={**cell.rights.env, **env},
        limits=replace(cell.rights.limits, processes=_PROCESSES),
    )
    data = str(subject.anchors["data"])
    spec = replace(cell, rights=rights, isolation="process", observe=True, workspace=workspace, data=data)
    return replace(spec, cwd=workspace)


def _has_own_memory() -> bool:
    from remit_sandbox.probe import probe

    return any(row.right == "shared memory of its own" and row.by == "kernel" for row in probe().rows)


def _always(spec: CellSpec) -> tuple[str, ...]:
    """What every cell may read, one with a network the certificates as well."""
    from remit_sandbox.confine.readable import certificate_paths, default_paths

    own = [f"{spec.location}/{spec.package}"] if spec.location else []
    return tuple(os.path.realpath(path) for path in (*default_paths(spec.paths), *certificate_paths(), *own))


def _verified(subject: Subject, sandbox: Sandbox, proposal: Needs, seen: Seen) -> Reply:
    permission = Permission.parse(proposal.table)
    private = frozenset(permission.net) if subject.private_net else frozenset[str]()
    try:
        rights = resolve_right(permission, subject.anchors, private_net=private).rights
    except RemitError as error:
        return Reply(kind="failed", error=error.message)
    cell, workspace = subject.cell, subject.anchors["workspace"]
    children = bool(rights.exec or seen.get("fork"))
    limits = replace(rights.limits, processes=_PROCESSES) if children else rights.limits
    share = share_of(workspace, (*rights.read, *rights.write))
    own = any("${data}" in entry for key in ("fs.read", "fs.write") for entry in proposal.table.get(key, ()))
    isolation: Isolation = "process" if children else "fresh"
    spec = replace(
        cell,
        rights=replace(rights, limits=_at_least(limits, cell.rights.limits)),
        isolation=isolation,
        secrets={name: value for name, value in cell.secrets.items() if name in permission.secrets},
        workspace=str(workspace) if share else None,
        cwd=str(workspace) if share == "whole" else None,
        data=str(subject.anchors["data"]) if own else None,
    )
    return _run(subject, sandbox, spec).reply


def _at_least(limits: Limits, others: Limits) -> Limits:
    return replace(others, processes=max(limits.processes, others.processes))


def _run(subject: Subject, sandbox: Sandbox, spec: CellSpec) -> _Run:
    """Call the handler and its post-hook in a new cell."""
    skill, context = subject.skill, {"session": "learn", "call": "learn"}
    body = {"handler": skill.handler, "arguments": subject.arguments, "context": context}
    try:
        cell = sandbox.cell(spec)
    except CellStartError as error:
        raise PackError(f"pack {error.pack} does not start: {error.reason}", traceback=error.traceback) from error
    except SandboxError as error:
        raise PackError(str(error)) from error
    try:
        reply = cell.request("call", body, timeout=skill.timeout)
        if reply.kind == "result" and skill.after:
            asked = {"skill": skill.full, "arguments": subject.arguments}
            hook = {"after": skill.after, "call": asked, "result": reply.text, "context": context}
            reply = cell.request("after", hook, timeout=skill.timeout)
        return _Run(reply=reply, tmp=cell.tmp, hosts=cell.denials.reached if cell.denials is not None else ())
    finally:
        cell.kill()


def _read(observed: bytes) -> Seen:
    """Return what a cell says that it saw; pairs that have not the known form are left out."""
    try:
        pairs = json.loads(observed or b"[]")
    except ValueError:
        return {}
    seen: dict[str, set[str]] = {}
    for pair in pairs if isinstance(pairs, list) else ():
        well_formed = isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        if well_formed and "\0" not in pair[1]:
            seen.setdefault(pair[0], set()).add(pair[1])
    return {kind: frozenset(found) for kind, found in seen.items()}
