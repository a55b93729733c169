"""Does a pack ask for what it needs, no more and no less, and call what it does by its name?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from remit.authoring.check_project import skill_line
from remit.authoring.deeds import Deed
from remit.authoring.findings import Finding, Level
from remit.authoring.source_facts import Reach, Seen, Source
from remit.authoring.subject import Subject
from remit.packs.manifest import Manifest
from remit.packs.permissions import FIELDS, Permission
from remit.packs.tables import SkillTable
from remit.values import Impact

_DEEDS: Mapping[str, tuple[Deed, ...]] = {
    "fs.read": ("read", "data"),
    "fs.write": ("write", "data"),
    "net": ("net", "send"),
    "exec": ("exec",),
    "env": ("env",),
    "secrets": ("secret",),
}
"""What a skill does that has the right under each key."""

_WORDS = {
    "fs.read": "reads a file",
    "fs.write": "writes a file",
    "net": "opens a connection",
    "exec": "starts a program",
    "env": "reads a variable",
    "secrets": "reads ctx.secrets",
}
_OBSERVED = {"run": "exec", "fork": "exec", "env": "env", "secret": "secrets"}
_CHANGES = {
    "append", "archive", "buy", "cancel", "charge", "clear", "close", "create", "delete", "deploy", "donate", "drop",
    "edit", "erase", "insert", "install", "invite", "kill", "modify", "move", "pay", "post", "publish", "purchase",
    "purge", "put", "refund", "register", "remove", "rename", "replace", "reset", "restart", "revoke", "save",
    "schedule", "send", "share", "shutdown", "submit", "subscribe", "transfer", "trash", "tweet", "uninstall",
    "update", "upload", "wipe", "withdraw", "write",
}  # fmt: skip
_IMPACTS: Mapping[Impact, tuple[str, ...]] = {
    "destroy": ("delete", "destroy", "drop", "erase", "kill", "purge", "remove", "trash", "wipe"),
    "money": ("buy", "charge", "donate", "pay", "purchase", "refund", "withdraw"),
    "publish": ("broadcast", "publish", "tweet"),
    "authority": ("authorize", "invite", "promote"),
}


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What the examples of one skill did, under observation.

    Attributes:
        ran: how many ended `ok`.
        deeds: permission keys that were used.
        hosts: `host:port` that were asked for and granted.
    """

    ran: int = 0
    deeds: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()


def check_rights(
    subject: Subject, manifest: Manifest, source: Source, observed: Mapping[str, Observed]
) -> Iterator[Finding]:
    """Compare permissions, `uses`, effects and impact with the source, and with what the examples did."""
    ceiling = manifest.permission()
    yield from _check_ceiling(subject, manifest, ceiling, source, observed)
    for name, table in manifest.skills.items():
        reach = source.reach(*filter(None, (table.handler, table.after)))
        line = skill_line(subject.pack.manifest, name)
        about = _About(subject=subject, name=name, line=line)
        asked = manifest.skill_permission(name)
        yield from _check_uses(about, asked, reach, observed.get(name, Observed()))
        yield from _check_missing(about, table, asked, reach)
        yield from _check_effect(about, table, asked, reach)
        yield from _check_impact(about, table)


@dataclass(frozen=True, kw_only=True)
class _About:
    subject: Subject
    name: str
    line: int

    def finding(self, code: str, level: Level, message: str, remedy: str, seen: Seen | None = None) -> Finding:
        file = self.subject.shown(seen.path if seen else self.subject.pack.manifest)
        line = seen.line if seen else self.line
        return Finding(code=code, level=level, message=message, remedy=remedy, skill=self.name, file=file, line=line)


def _check_ceiling(
    subject: Subject, manifest: Manifest, ceiling: Permission, source: Source, observed: Mapping[str, Observed]
) -> Iterator[Finding]:
    """A right of the pack that no skill uses; a host that stands nowhere in the source."""
    used: dict[str, set[str]] = {key: set() for key in FIELDS}
    for name in manifest.skills:
        for key, entries in manifest.skill_permission(name).words().items():
            used.setdefault(key, set()).update(entries)
    for key, entries in ceiling.words().items():
        for entry in entries if key in FIELDS else ():
            if entry not in used[key]:
                yield _unused(subject, f"no skill uses {key} = {entry!r}", "name it under uses, or take it away")
    hosts = {host for one in observed.values() for host in one.hosts}
    settings = " ".join(str(value) for value in manifest.settings.values())
    texts = " ".join(source.texts()) + settings
    for entry in ceiling.net:
        host = entry.rpartition(":")[0].removeprefix("*.")
        if host != "*" and host not in texts and entry not in hosts:
            yield _unused(subject, f"the host of net = {entry!r} stands nowhere in its source", "take it away")


def _unused(subject: Subject, message: str, remedy: str) -> Finding:
    file = subject.shown(subject.pack.manifest)
    return Finding(code="permission-unused", level="error", message=message, remedy=remedy, file=file)


def _check_uses(about: _About, asked: Permission, reach: Reach, seen: Observed) -> Iterator[Finding]:
    for key in asked.words():
        known = key in _DEEDS and not any(reach.first(deed) for deed in _DEEDS[key]) and key not in seen.deeds
        if not known or (reach.strangers and not seen.ran):
            continue
        how = "nothing in its source" + (" and none of its examples" if seen.ran else "") + f" {_WORDS[key]}"
        level: Level = "error" if seen.ran else "warning"  # a helper may use it in a way that the source does not show
        yield about.finding("permission-unused", level, f"it uses {key}, and {how}", f"take {key} out of uses")


def _check_missing(about: _About, table: SkillTable, asked: Permission, reach: Reach) -> Iterator[Finding]:
    """What the source does without a right to do it. Files may lie in the temporary folder, which is always there.

    A key that `uses` names through a setting (`net:${setting.hosts}`) is asked for once the setting says something.
    """
    named = {use.partition(":")[0] for use in table.uses if "${setting." in use}
    for key in ("net", "exec", "secrets"):
        seen = next((found for deed in _DEEDS[key] if (found := reach.first(deed))), None)
        if seen is not None and not asked.words().get(key) and key not in named:
            message = f"it {_WORDS[key]} ({seen.what}) and does not use {key}, so that it will be refused"
            remedy = f"add {key} to [permissions] and uses"
            yield about.finding("permission-missing", "error", message, remedy, seen)


def _check_effect(about: _About, table: SkillTable, asked: Permission, reach: Reach) -> Iterator[Finding]:
    if table.effect != "read":
        return
    right = _implied(asked)
    if right is not None:
        message = f"its effect is read, and its rights ({right[0]}) make it {right[1]}"
        yield about.finding("effect-understated", "error", message, f'write effect = "{right[1]}"')
        return
    seen = reach.first("send") or reach.first("exec")
    if seen is not None:
        message = f"its effect is read, and it calls {seen.what}, which changes something outside"
        yield about.finding("effect-understated", "error", message, 'write effect = "external"', seen)
    verb = about.name.partition("_")[0]
    if verb in _CHANGES:
        message = f"its effect is read, and its name says that it can {verb} something"
        yield about.finding("effect-understated", "warning", message, "write the effect that it has, or rename it")


def _implied(asked: Permission) -> tuple[str, Literal["write", "external"]] | None:
    """Return the right that contradicts `read`. A network may be read from; programs and files to write may not."""
    if asked.exec:
        return "exec", "external"
    return ("fs.write", "write") if asked.writes else None


def _check_impact(about: _About, table: SkillTable) -> Iterator[Finding]:
    verb = about.name.partition("_")[0]
    for impact, verbs in _IMPACTS.items():
        if verb in verbs and impact not in table.impact:
            message = f"its name says that it can {verb} something, and its impact does not say {impact}"
            yield about.finding("impact-missing", "warning", message, f'add "{impact}" to impact, or rename it')


def keys_of(events: Iterable[Sequence[str]], *, read: Sequence[str], write: Sequence[str]) -> frozenset[str]:
    """Return the permission keys that observed events needed.

    Args:
        events: kind and what; see `remit_sandbox.inside.observe`.
        read: folders and files that were granted to be read; all else that is read needs no grant.
        write: the same for writing.
    """
    keys: set[str] = set()
    for kind, what in events:
        if kind in _OBSERVED:
            keys.add(_OBSERVED[kind])
        elif kind in ("change", "make") and _inside(what, write):
            keys.add("fs.write")
        elif kind in ("read", "list") and _inside(what, (*read, *write)):
            keys.add("fs.read")
    return frozenset(keys)


def _inside(path: str, roots: Sequence[str]) -> bool:
    places = [root.removesuffix("/**") for root in roots]
    return any(path == place or path.startswith(f"{place}/") for place in places)
