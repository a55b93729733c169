"""What was accepted of each pack: the values that `remit.lock` holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remit.packs.hashes import digest_of
from remit.packs.permissions import NOTHING, Permission
from remit.values import Effect, Impact


@dataclass(frozen=True, kw_only=True)
class LockedSkill:
    """One skill as it was accepted; hashes are `sha256:...`.

    Attributes:
        table: hash of its whole `[[skill]]` table.
        content: hash of name, description and schema.
        rest: hash of the table without what the lock itself tells (effect, impact, uses, limits); empty in a lock
            that an older Remit wrote.
        effect: as declared.
        impact: as declared.
        description: what the model reads.
        schema: JSON Schema of the arguments.
        permission: what it asks for, with the pack's default settings.
        refused: why it is left out; empty for a usable skill.
    """

    table: str
    content: str
    rest: str = ""
    effect: Effect = "external"
    impact: tuple[Impact, ...] = ()
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    permission: Permission = NOTHING
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class LockedPack:
    """One pack as it was accepted; hashes are `sha256:...`.

    Attributes:
        distribution: name of the pip distribution.
        version: of the distribution.
        package: its top-level package.
        editable: a development install; labelled `dev`, its files are not held.
        source: the project's folder of an editable install.
        files: hash over the files that are alike everywhere, METADATA and entry_points.txt among them.
        compiled: wheel tag to hash over the compiled files.
        manifest: hash of `pack.toml`.
        settings: hash over the default settings; empty in a lock that an older Remit wrote.
        permission: the ceiling that it asks for, with its default settings.
        skills: name to skill.
        wheels: file name to hash of the wheels that it was installed from, its own and those of what it
            needs, for each system that it was installed on; empty where pip alone installed it.
    """

    distribution: str
    version: str
    package: str
    editable: bool = False
    source: str = ""
    files: str = ""
    compiled: Mapping[str, str] = field(default_factory=dict)
    manifest: str = ""
    settings: str = ""
    permission: Permission = NOTHING
    skills: Mapping[str, LockedSkill] = field(default_factory=dict)
    wheels: Mapping[str, str] = field(default_factory=dict)

    def skill_hash(self, skill: str) -> str:
        """Return one hash over a skill's table, content and the pack's files."""
        locked = self.skills[skill]
        return digest_of([self.distribution, self.version, self.files, locked.table, locked.content])


@dataclass(frozen=True, kw_only=True)
class LockedExtension:
    """One extension as it was accepted; hashes are `sha256:...`.

    Attributes:
        distribution: name of the pip distribution.
        version: of the distribution.
        entry: what its entry point names, `package`, `package.module` or `package.module:object`.
        editable: a development install; its files are held all the same.
        files: hash over the files of its package that are alike everywhere.
        compiled: wheel tag to hash over the compiled files.
        wheels: file name to hash of the wheels that it and what it needs were installed from; empty where
            Remit did not install it.
    """

    distribution: str
    version: str
    entry: str
    editable: bool = False
    files: str = ""
    compiled: Mapping[str, str] = field(default_factory=dict)
    wheels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The whole file: pack name, and extension name, to what was accepted."""

    packs: Mapping[str, LockedPack] = field(default_factory=dict)
    extensions: Mapping[str, LockedExtension] = field(default_factory=dict)

    @property
    def wheels(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        """`pack NAME` or `extension NAME`, and the wheels that it is made of, file name to `sha256:...`."""
        packs = ((f"pack {name}", one.wheels) for name, one in self.packs.items())
        extensions = ((f"extension {name}", one.wheels) for name, one in self.extensions.items())
        return (*packs, *extensions)

    def with_pack(self, name: str, pack: LockedPack) -> Lock:
        """Return a copy with one pack added or replaced."""
        return replace(self, packs={**self.packs, name: pack})

    def without_pack(self, name: str) -> Lock:
        """Return a copy without one pack."""
        return replace(self, packs={key: value for key, value in self.packs.items() if key != name})

    def with_extension(self, name: str, extension: LockedExtension) -> Lock:
        """Return a copy with one extension added or replaced."""
        return replace(self, extensions={**self.extensions, name: extension})
