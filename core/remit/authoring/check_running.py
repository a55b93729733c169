"""What only shows when a pack runs: what its import does, and whether the examples of its manifest work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from remit.authoring.check_project import skill_line
from remit.authoring.check_rights import Observed, keys_of
from remit.authoring.findings import Finding
from remit.authoring.subject import Subject
from remit.authoring.watching import Watched, Watching
from remit.errors import SchemaError
from remit.packs.arguments import Arguments, Rejected
from remit.packs.manifest import Manifest
from remit.skills import Skill

SLOW = 1.0
"""Seconds that an import may take."""

MOST_EXAMPLES = 5
"""Examples of one skill that are run."""

WORKSPACE = ("tests", "workspace")
"""Folder of a project whose copy is the workspace of the examples."""

_DEEDS = {
    "write": "writes {what}",
    "net": "asks the network for {what}",
    "exec": "starts a program",
    "thread": "starts a thread",
}
_DENIED = ("PermissionError", "no grant covers", "Operation not permitted", "Permission denied")


def check_import(watching: Watching, subject: Subject, manifest: Manifest) -> Iterator[Finding]:
    """Import the pack in a cell without any right, and see what that does."""
    handlers = [one for table in manifest.skills.values() for one in (table.handler, table.after) if one]
    seen = watching.imported(handler.partition(":")[0] for handler in handlers)
    if seen.error:
        yield Finding(
            code="import-fails",
            level="error",
            message=f"it cannot be imported in a cell without any right: {seen.error}",
            remedy="`remit packs try` shows where",
        )
    named = {what for kind, what, _ in seen.events if kind == "net"}
    asked = [["net", f"{one.host}:{one.port}", ""] for one in seen.network if one.host not in named]
    for kind, what, where in [*seen.events, *asked]:
        if kind in _DEEDS:
            file, _, line = where.rpartition(":")
            yield Finding(
                code="import-acts",
                level="error",
                message=f"importing it {_DEEDS[kind].format(what=what)}",
                remedy="do that in the handler: importing happens in a cell without any right",
                file=subject.shown(subject.pack.root / file) if file else "",
                line=int(line) if line.isascii() and line.isdigit() and len(line) < 8 else 0,
            )
    if seen.seconds > SLOW:
        message = f"importing it takes {seen.seconds:.1f} s, which every new cell pays"
        remedy = "import what is heavy in the handler"
        yield Finding(code="import-slow", level="warning", message=message, remedy=remedy)


def stage(subject: Subject, workspace: str | Path | None, place: Path) -> Path:
    """Return the workspace of the examples: a copy of a folder, or an empty one."""
    target = place / "workspace"
    source = Path(workspace) if workspace is not None else (subject.project or place).joinpath(*WORKSPACE)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)  # a link into the machine stays outside the grant
    else:
        target.mkdir()
    return target


class Examples:
    """Runs the examples of the manifest in order, under observation.

    Attributes:
        findings: what is wrong.
        notes: what could not be seen.
        observed: skill to what its examples did.
        run: how many were run.
    """

    def __init__(self, watching: Watching, subject: Subject, skills: Mapping[str, Skill]) -> None:
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.observed: dict[str, Observed] = {}
        self.run = 0
        self._watching = watching
        self._subject = subject
        for name, skill in skills.items():
            self._about(name, skill)

    def _about(self, name: str, skill: Skill) -> None:
        if not skill.examples and not skill.impact:  # a model copies what it is shown
            message = "no example shows how it is called"
            remedy = 'add examples = [{ question = "...", arguments = { ... } }]'
            self._add("example-missing", "warning", name, message, remedy)
        ran, deeds, hosts = 0, set[str](), set[str]()
        for number, example in enumerate(skill.examples[:MOST_EXAMPLES], start=1):
            if not self._fits(name, skill, number, example["arguments"]):
                continue
            seen = self._watching.called(skill, example["arguments"])
            self.run += 1
            ran += seen.status == "ok"
            rights = skill.cell.rights if skill.cell else None
            deeds |= keys_of(seen.events, read=rights.read, write=rights.write) if rights else set()
            hosts |= {f"{one.host}:{one.port}" for one in seen.network if one.allowed}
            self._judge(name, skill, number, seen)
        deeds |= {"net"} if hosts else set()
        self.observed[name] = Observed(ran=ran, deeds=frozenset(deeds), hosts=frozenset(hosts))

    def _fits(self, name: str, skill: Skill, number: int, arguments: object) -> bool:
        import json

        try:
            checked = Arguments(skill.schema).check(json.dumps(arguments))
        except (SchemaError, TypeError, ValueError):
            return False
        if isinstance(checked, Rejected):
            why = "; ".join(f"{one.path}: {one.message}" for one in checked.errors)
            self._add("example-wrong", "error", name, f"example {number} does not fit: {why}", "correct the example")
            return False
        return True

    def _judge(self, name: str, skill: Skill, number: int, seen: Watched) -> None:
        refused = [one for one in seen.network if not one.allowed]
        if refused:
            asked = f"{refused[0].host}:{refused[0].port}"
            message = f"example {number} asks for {asked}, which no permission covers"
            self._add("permission-missing", "error", name, message, f'add "{asked}" to net, or do not ask for it')
        elif seen.network:
            hosts = ", ".join(sorted({f"{one.host}:{one.port}" for one in seen.network}))
            self.notes.append(f"{name}: example {number} asked for {hosts}; the network is not reached here")
        elif seen.status == "ok":
            return
        elif seen.status == "failed" and skill.cell is not None and skill.cell.secrets:
            self.notes.append(f"{name}: example {number} went no further without its secrets: {seen.error}")
        elif any(word in seen.error for word in _DENIED):
            message = f"example {number} is refused by the cell: {seen.error}"
            self._add("permission-missing", "error", name, message, "ask for the right that it needs")
        else:
            message = f"example {number} ended {seen.status}: {seen.error}"
            self._add("example-fails", "error", name, message, self._where_files_lie())

    def _where_files_lie(self) -> str:
        by_option = "`--workspace DIR` names a folder whose copy is its workspace"
        if self._subject.project is None:
            return f"where it needs files, {by_option}"
        return f"files that it needs can lie in {'/'.join(WORKSPACE)} of the project; or {by_option}"

    def _add(self, code: str, level: str, name: str, message: str, remedy: str) -> None:
        path = self._subject.pack.manifest
        self.findings.append(
            Finding(
                code=code,
                level="error" if level == "error" else "warning",
                message=message,
                remedy=remedy,
                skill=name,
                file=self._subject.shown(path),
                line=skill_line(path, name),
            )
        )
