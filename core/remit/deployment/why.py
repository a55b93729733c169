"""Explains one cell of the matrix: permission ∩ grant ∩ mode, each with the line of the file that says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit.deployment.audit import AuditRow
from remit.deployment.deployment import Deployment
from remit.deployment.layers import MANAGED_FILE, canonical, load_managed
from remit.deployment.remedies import allow_remedy
from remit.deployment.source import CONFIG_NAME, line_of
from remit.errors import PolicyError, UsageError
from remit.packs.entries import PARSERS, WITHIN
from remit.packs.permissions import FIELDS
from remit.skills import Skill
from remit.state.switches import Off, Switches

Words = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Why:
    """One thing that speaks for or against.

    Attributes:
        what: `permission`, `grant`, `managed`, `mode`, `this machine`, `verdict`, `accepted`, `switch`.
        allows: True for, False against, None for what only tells more.
        line: in words.
        where: `file:line` that says so; empty where no line does.
    """

    what: str
    allows: bool | None
    line: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Whether a skill reaches something, and why.

    Attributes:
        skill: full name.
        key: of the permission.
        value: what was asked about, as a permission writes it.
        allowed: whether its right covers it.
        steps: what speaks for and against, in the order in which it is asked.
        remedy: what would change an answer of no; empty for yes.
    """

    skill: str
    key: str
    value: str
    allowed: bool
    steps: tuple[Why, ...]
    remedy: str = ""


def explain(
    deployment: Deployment, row: AuditRow | None, skill: str, key: str, value: str, *, managed: Path = MANAGED_FILE
) -> Explanation:
    """Say whether `skill` reaches `value` under `key`, and which line of which file decides.

    Args:
        deployment: an open deployment.
        row: the skill's row of the matrix; None when it has none.
        skill: full name.
        key: `net`, `fs.read`, `fs.write`, `exec`, `env` or `secrets`.
        value: `host:port`, a path (relative to the workspace, absolute, or with an anchor), a program, a name.
        managed: the managed file.

    Raises:
        UsageError: an unknown key, or a value that cannot stand there.
    """
    if key not in FIELDS:
        raise UsageError(f"{key!r} is no permission; there are {', '.join(FIELDS)}")
    asked = _asked(deployment, key, value)
    known = deployment.skills.get(skill)
    if known is None or row is None:
        found = allow_remedy(deployment, skill)
        step = Why(what="skill", allows=False, line=found.reason)
        return Explanation(skill=skill, key=key, value=asked[0], allowed=False, steps=(step,), remedy=found.remedy)
    look = _Look(deployment=deployment, skill=known, key=key, asked=asked, managed=managed)
    steps = (*look.right(), *look.around(row))
    double = _workspace_twice(deployment.workspace, value) if key.startswith("fs.") else ""
    if double:
        steps = (Why(what="path", allows=None, line=double), *steps)
    allowed = all(step.allows is not False for step in steps)
    remedy = "" if allowed or double else look.remedy(next(step for step in steps if step.allows is False))
    return Explanation(skill=skill, key=key, value=asked[0], allowed=allowed, steps=steps, remedy=remedy)


def _workspace_twice(workspace: Path, value: str) -> str:
    """Say how a path is read that begins with the workspace's own name, as seen from the deployment's folder."""
    first, _, rest = value.removeprefix("./").partition("/")
    if first != workspace.name or (workspace / first).exists():
        return ""
    meant = f"; {rest} is the one that lies in it" if rest else ""
    return f"paths start at the workspace, so that this is {first} inside of it, which is not there{meant}"


def _asked(deployment: Deployment, key: str, value: str) -> tuple[str, ...]:
    """Return every spelling of what was asked about: a path has one with an anchor and one without."""
    spellings = _paths(deployment.workspace, value) if key.startswith("fs.") else (value,)
    try:
        return tuple(dict.fromkeys(PARSERS[key](one) for one in spellings))
    except PolicyError as error:
        raise UsageError(error.message) from None


def _paths(workspace: Path, value: str) -> tuple[str, ...]:
    if value.startswith("${"):
        plain = value.replace("${workspace}", str(workspace), 1)
        return (value, plain) if plain.startswith("/") else (value,)
    path = Path(os.path.normpath(workspace / value.removesuffix("/**")))
    rest = "/**" if value.endswith("/**") or path.is_dir() else ""
    if path == workspace:
        return (f"${{workspace}}{rest}", f"{path}{rest}")
    if path.is_relative_to(workspace):
        return (f"${{workspace}}/{path.relative_to(workspace)}{rest}", f"{path}{rest}")
    return (f"{path}{rest}",)


@dataclass(frozen=True, kw_only=True)
class _Look:
    deployment: Deployment
    skill: Skill
    key: str
    asked: tuple[str, ...]
    managed: Path

    def right(self) -> Iterator[Why]:
        """Yield permission, grant, managed grant, mode."""
        asks = self._covering(self.skill.permission)
        yield Why(
            what="permission",
            allows=bool(asks),
            line=f"it asks for {self.key} {asks[0]}" if asks else self._asks_not(),
            where=self._in_manifest(asks[0] if asks else ""),
        )
        if not asks:
            return
        own = self._own_grant()
        gives = self._covering(own)
        yield Why(what="grant", allows=bool(gives), line=self._granted(gives, own), where=self._in_config())
        upper = self._upper()
        if upper is not None:
            yield upper
        has = self._covering(self.skill.right)
        if self.deployment.read_only and self._covering(self.skill.grant):
            taken = "does not take it away" if has else "takes it away"
            yield Why(what="mode", allows=bool(has), line=f"read-only mode {taken}")
        if has and self.key.startswith("fs."):
            yield self._here(has[0])

    def around(self, row: AuditRow) -> Iterator[Why]:
        """Yield what decides on a call: switch, verdict, acceptance."""
        off = self._off()
        if off is not None:
            yield Why(what="switch", allows=False, line=off.says())
        rule = row.source.removeprefix("rule ")
        where = self._rule(rule) if row.source.startswith("rule ") else ""
        vary = f"; it may vary by rule {', '.join(row.rules)}" if row.rules else ""
        allows = False if row.verdict == "deny" else None
        yield Why(what="verdict", allows=allows, line=f"a call: {row.verdict} ({row.source}){vary}", where=where)
        acceptance = self.deployment.standing.acceptance
        allowed = acceptance.skills.get(self.skill.full) if acceptance else None
        if allowed is not None:
            yield Why(what="accepted", allows=None, line=f"allowed by {allowed.who} at {allowed.when}")
        elif self.deployment.standing.by in ("digest", "managed"):
            yield Why(what="accepted", allows=None, line=f"accepted by {self.deployment.standing.by}")

    def remedy(self, against: Why) -> str:
        """Return what would change a no."""
        pack = self.skill.pack
        match against.what:
            case "permission":
                return f"pack {pack} would have to ask for it: nobody can give a pack more than it asks for"
            case "grant":
                entries = [*self.skill.grant.get(self.key, ()), self.asked[0]]
                return f"remit packs grant {pack} '{self.key}={','.join(entries)}'"
            case "managed":
                return f"whoever manages {self.managed} decides"
            case "mode":
                return "run it without --read-only"
            case "switch":
                off = self._off()
                return off.undo() if off is not None else ""
            case _:
                return f"remit packs grant {pack} and the rules of {CONFIG_NAME} say what holds"

    def _off(self) -> Off | None:
        return Switches(self.deployment.state_folder).off(self.skill.pack, self.skill.name)

    def _covering(self, words: Words) -> list[str]:
        keys = (self.key, "fs.write") if self.key == "fs.read" else (self.key,)
        entries = [entry for key in keys for entry in words.get(key, ())]
        return [entry for entry in entries if any(WITHIN[self.key](one, entry) for one in self.asked)]

    def _asks_not(self) -> str:
        own = ", ".join(self.skill.permission.get(self.key, ())) or "nothing"
        return f"it does not ask for it: under {self.key} it asks for {own}"

    def _granted(self, gives: Iterable[str], own: Words) -> str:
        given = next(iter(gives), "")
        if given:
            all_of_it = "" if self._is_written() else ", as it gives all that the pack asks for"
            return f"the deployment gives {given}{all_of_it}"
        return f"the deployment gives less: {', '.join(own.get(self.key, ())) or 'nothing'}"

    def _own_grant(self) -> Words:
        """Return what the deployment's own file gives, before the managed file narrows it."""
        parts = self.deployment.assembled.packs.get(self.skill.pack)
        if parts is None or not self._is_written():
            return self.skill.permission
        writes = self.skill.grant.get("fs.write", ())
        return {"fs.write": writes, self.key: tuple(parts.config.grant.given()[self.key])}

    def _is_written(self) -> bool:
        """Whether `remit.toml` writes this key of the pack's grant."""
        parts = self.deployment.assembled.packs.get(self.skill.pack)
        return parts is not None and self.key in parts.config.grant.given()

    def _in_config(self) -> str:
        text = self._text(self.deployment.folder / CONFIG_NAME)
        key = ("grant", *self.key.split(".")) if self._is_written() else ("enabled",)
        line = _pack_line(text, self.skill.pack, key)
        return f"{CONFIG_NAME}:{line}" if line else CONFIG_NAME

    def _in_manifest(self, entry: str) -> str:
        parts = self.deployment.assembled.packs.get(self.skill.pack)
        if parts is None:
            return ""
        text = self._text(parts.installed.manifest)
        number = list(parts.manifest.skills).index(self.skill.name)
        named = next((at for at, line in enumerate(text.splitlines(), start=1) if entry and f'"{entry}"' in line), None)
        line = named or line_of(text, ("permissions", *self.key.split("."))) if entry else None
        line = line or line_of(text, ("skill", number, "uses")) or line_of(text, ("skill", number))
        return f"{parts.installed.package}/pack.toml:{line}" if line else f"{parts.installed.package}/pack.toml"

    def _upper(self) -> Why | None:
        managed = load_managed(self.managed)
        tables = managed.config.packs.items() if managed else ()
        table = next((pack for name, pack in tables if canonical(name) == self.skill.pack), None)
        if managed is None or table is None or self.key not in table.grant.given():
            return None
        entries = tuple(table.grant.given()[self.key])
        covers = bool(self._covering({self.key: entries}))
        line = _pack_line(managed.text, self.skill.pack, ("grant", *self.key.split(".")))
        shown = f"the managed file gives at most {', '.join(entries) or 'nothing'}"
        where = f"{self.managed}:{line}" if line else str(self.managed)
        return Why(what="managed", allows=covers, line=shown, where=where)

    def _here(self, entry: str) -> Why:
        """Say whether the path is there: a right to what does not exist gives nothing."""
        real = Path(self.asked[-1].removesuffix("/**"))
        if not self.asked[-1].startswith("/"):
            return Why(what="this machine", allows=None, line=f"{entry} belongs to the pack itself")
        if not real.exists():
            return Why(what="this machine", allows=None, line=f"{real} does not exist now")
        place = Path(os.path.realpath(real))
        led = f", which leads to {place}" if place != real else ""
        rights = self.skill.cell.rights if self.skill.cell else None
        given = (*rights.write, *rights.read) if rights and self.key == "fs.read" else rights.write if rights else ()
        covered = any(place == Path(one.removesuffix("/**")) or _below(place, one) for one in given)
        verdict = "the kernel lets it" if covered else "no granted folder holds it, so the kernel refuses"
        return Why(what="this machine", allows=covered, line=f"{real}{led}: {verdict}")

    def _rule(self, rule: str) -> str:
        for number, written in enumerate(self.deployment.config.rules):
            if written.id == rule:
                line = line_of(self._text(self.deployment.folder / CONFIG_NAME), ("rule", number))
                return f"{CONFIG_NAME}:{line}" if line else CONFIG_NAME
        return ""

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text("utf-8-sig")
        except (OSError, ValueError):
            return ""


def _below(place: Path, pattern: str) -> bool:
    return pattern.endswith("/**") and place.is_relative_to(pattern.removesuffix("/**") or "/")


def _pack_line(text: str, pack: str, key: tuple[str, ...]) -> int | None:
    """Return the line of a key of a pack's table, whichever way the pack's name is spelled there."""
    import tomllib

    try:
        packs = tomllib.loads(text).get("packs", {})
    except (ValueError, RecursionError):
        return None
    written = next((name for name in packs if canonical(name) == pack), pack)
    return line_of(text, ("packs", written, *key))
