"""What a wheel is and would install, as `remit.packs.wheel` read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.packs.distribution import GROUP
from remit.packs.installed import PackProblem
from remit.packs.manifest import Manifest


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One file of a wheel.

    Attributes:
        name: its name in the wheel.
        target: where pip puts it, relative to the site folder; `../../../bin/x` for a script.
        size: bytes, unpacked.
        sha256: hex digest.
    """

    name: str
    target: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class WheelFacts:
    """What a wheel is and would install.

    Attributes:
        path: the file.
        sha256: hex digest of the whole wheel, as pip's `--hash` and package indexes give it.
        size: of the wheel in bytes.
        distribution: name as METADATA writes it.
        version: of the distribution.
        summary: one line of METADATA, hostile text.
        tags: wheel tags, such as `py3-none-any`; sorted.
        requires_python: version specifier, empty for any.
        requires: requirements as METADATA writes them.
        groups: entry-point group to name to value.
        files: name in the wheel to file, sorted.
        dist_info: name of its `.dist-info` folder.
        pack: name of the pack, empty for a library.
        package: the pack's package; empty for a library, and where the entry point is wrong.
        manifest: the pack's manifest; None for a library, and where it is missing or wrong.
        problems: why it must not be installed, empty when nothing speaks against it.
        notes: what to know before installing it, such as scripts and compiled code.
    """

    path: Path
    sha256: str
    size: int
    distribution: str
    version: str
    summary: str = ""
    tags: tuple[str, ...] = ()
    requires_python: str = ""
    requires: tuple[str, ...] = ()
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, WheelFile] = field(default_factory=dict)
    dist_info: str = ""
    pack: str = ""
    package: str = ""
    manifest: Manifest | None = None
    problems: tuple[PackProblem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_pack(self) -> bool:
        """Whether it has an entry point in our group, well-formed or not."""
        return GROUP in self.groups
