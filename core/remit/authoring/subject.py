"""What is checked: a project's folder, a wheel, or a pack that is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit.deployment.try_pack import development_pack
from remit.errors import PackError
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack
from remit.plain_file import read_plain


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A pack whose files are at hand; nothing of it has run.

    Attributes:
        pack: where its files are.
        project: the folder of its project; None for a wheel and for what is installed.
        requires: its requirements, as a wheel's METADATA or the project writes them.
    """

    pack: InstalledPack
    project: Path | None = None
    requires: tuple[str, ...] = ()

    def shown(self, path: Path) -> str:
        """Return a path of the pack as its author knows it."""
        base = self.project.resolve() if self.project is not None else self.pack.root.parent
        real = Path(os.path.realpath(path))
        return real.relative_to(base).as_posix() if real.is_relative_to(base) else path.name


@contextmanager
def subject(source: str | Path | InstalledPack, paths: Sequence[str] | None = None) -> Iterator[Subject]:
    """Find the pack that `source` names; a wheel is unpacked into a temporary folder meanwhile.

    Raises:
        PackError: there is none, or its parts contradict one another.
    """
    if isinstance(source, InstalledPack):
        yield Subject(pack=source, project=source.source)
        return
    path = Path(source)
    if path.is_dir():
        pack = development_pack(path)
        yield Subject(pack=pack, project=path, requires=_requires(path))
    elif path.suffix == ".whl":
        with tempfile.TemporaryDirectory(prefix="remit-check-") as folder:
            yield _unpacked(path, Path(folder))
    else:
        pack = discover(paths).get(str(source))
        yield Subject(pack=pack, project=pack.source)


def _unpacked(wheel: Path, folder: Path) -> Subject:
    from remit.packs.wheel import read_wheel, unpack_wheel

    facts = read_wheel(wheel)
    if facts.problems:
        problem = facts.problems[0]
        raise PackError(problem.reason, remedy=problem.remedy)
    return Subject(pack=unpack_wheel(facts, folder), requires=facts.requires)


def _requires(folder: Path) -> tuple[str, ...]:
    import tomllib

    try:
        text = read_plain(folder / "pyproject.toml", 1024 * 1024).decode("utf-8-sig")
        project = tomllib.loads(text).get("project", {})
    except (OSError, ValueError, RecursionError):
        return ()
    found = project.get("dependencies", []) if isinstance(project, dict) else []
    return tuple(str(one) for one in found) if isinstance(found, list) else ()
