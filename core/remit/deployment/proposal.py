"""A change of a deployment that a person reads before it is applied."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remit.deployment.acceptance import accept
from remit.deployment.changes import NO_CHANGES, Changes, compare
from remit.deployment.config import PackConfig
from remit.deployment.edit import write_files
from remit.deployment.files import DeploymentFiles
from remit.deployment.news import news
from remit.deployment.rights import PackGrant
from remit.deployment.source import CONFIG_NAME
from remit.packs.describe import SkillDescription
from remit.packs.installed import InstalledPack
from remit.packs.lock import Lock
from remit.packs.manifest import Manifest
from remit.packs.permissions import NOTHING, Permission
from remit.packs.words import explain_in_words, explain_skill, given_to, united
from remit.state_folder import open_state


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A change of a deployment, ready to be read and applied.

    Attributes:
        pack: the pack's name.
        lines: what changed, what the chosen skills may do, and what is written, in plain words.
        warnings: what cannot be verified, what is refused, what is missing.
        skills: the skills that can be called afterwards.
        refused: skill to why it cannot be used.
        grant: what the deployment gives.
        unverified: skills whose declared `read` is taken on trust.
        changes: what becomes wider or narrower.
        before: the files as they were read.
        text: the new `remit.toml`.
        lock: the new lock.
        accepts: whether applying accepts the files, too.
    """

    pack: str
    lines: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    grant: Permission = NOTHING
    unverified: tuple[str, ...] = ()
    changes: Changes = NO_CHANGES
    before: DeploymentFiles
    text: str
    lock: Lock
    accepts: bool = True

    def apply(self) -> None:
        """Write `remit.toml` and `remit.lock`, and accept them.

        Raises:
            DeploymentError: they changed since the proposal was made, or cannot be written.
        """
        written = write_files(self.before, self.text, self.lock)
        if self.accepts:
            accept(written, open_state(written.folder))


def changes_between(before: DeploymentFiles, after: DeploymentFiles) -> Changes:
    """Rank the step from one state of a deployment's files to another."""
    return compare(before.config.config, before.lock, after.config.config, after.lock)


@dataclass(frozen=True, kw_only=True)
class Described:
    """One pack as a proposal shows it."""

    installed: InstalledPack
    manifest: Manifest
    table: PackConfig
    given: PackGrant
    skills: Mapping[str, SkillDescription]

    @property
    def chosen(self) -> tuple[str, ...]:
        """The skills that the deployment chose, in the manifest's order."""
        wanted = self.table.skills
        return tuple(name for name in self.manifest.skills if wanted is None or name in wanted)

    @property
    def refused(self) -> dict[str, str]:
        """Chosen skill to why it cannot be used."""
        return {
            name: self.skills[name].refused for name in self.chosen if name in self.skills and self.skills[name].refused
        }

    @property
    def usable(self) -> tuple[str, ...]:
        """The chosen skills that can be called."""
        return tuple(name for name in self.chosen if name not in self.refused)

    def right_of(self, name: str) -> Permission:
        """What the deployment gives one skill."""
        return given_to(self.manifest, name, self.given.settings, self.given.grant)


def describing(pack: Described, before: DeploymentFiles, after: DeploymentFiles) -> Proposal:
    """Return the proposal to go from `before` to `after`, for one pack."""
    return Proposal(
        pack=pack.manifest.name,
        lines=(*_lines(pack, before, after), *_written(before.config.text, after.config.text)),
        warnings=tuple(_warnings(pack)),
        skills=pack.usable,
        refused=pack.refused,
        grant=pack.given.grant,
        unverified=tuple(name for name in pack.table.accept_read if name in pack.chosen),
        changes=changes_between(before, after),
        before=before,
        text=after.config.text,
        lock=after.lock,
    )


def _lines(pack: Described, before: DeploymentFiles, after: DeploymentFiles) -> Iterator[str]:
    manifest, installed = pack.manifest, pack.installed
    dev = ", dev" if installed.editable else ""
    summary = f": {manifest.summary}" if manifest.summary else ""
    yield f"pack {manifest.name} ({installed.distribution} {installed.version}{dev}){summary}"
    since = list(news(manifest.name, before, after))
    if since:
        yield "changed since it was accepted:"
        yield from _indented(since)
    yield "its skills together:"
    yield from _indented(explain_in_words(united(map(pack.right_of, pack.usable))))
    for name in pack.usable:
        yield f"skill {manifest.name}.{name}:"
        trusted = name in pack.table.accept_read
        grant, settings = pack.given.grant, pack.given.settings
        yield from _indented(explain_skill(manifest, name, settings, accept_read=trusted, grant=grant))
    hidden = [name for name in manifest.skills if name not in pack.chosen]
    if hidden:
        yield f"not enabled: {', '.join(hidden)}"


def _written(before: str, after: str) -> Iterator[str]:
    """Return the lines of `remit.toml` that come and go."""
    edits = difflib.ndiff(before.splitlines(), after.splitlines())
    lines = [line for line in edits if line[:2] in ("+ ", "- ") and line[2:].strip()]
    if lines:
        yield f"in {CONFIG_NAME}:"
        yield from _indented(lines)


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _warnings(pack: Described) -> Iterator[str]:
    for name, why in pack.refused.items():
        yield f"skill {name} is left out: {why}"
    for name in united(map(pack.right_of, pack.usable)).secrets:
        if name not in pack.table.secrets:
            step = f"remit secrets set {pack.manifest.name}.{name} env:{name.upper()}"
            yield f"secret {name} is not bound; once the pack is enabled: {step}"
    for name, one in pack.skills.items():
        for note in one.notes:
            yield f"skill {name}: {note}"
