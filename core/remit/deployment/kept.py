"""What Remit keeps for a person: a folder a deployment, with its log, data folders and acceptance; and an index."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from remit.errors import DeploymentError
from remit.plain_file import read_plain
from remit.state.owner import is_alive
from remit.state_folder import find_state, state_root

_LARGEST = 64 * 1024

Kind = Literal["deployment", "orphan", "index"]
"""State of a deployment; of one whose folder is gone or another now; the list of installed packs."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One thing that is kept.

    Attributes:
        kind: what it is.
        path: where it lies.
        folder: the deployment's folder; empty for the index, and where it is not known.
        id: of the deployment's state; empty for the index.
        size: bytes, of everything together.
        log: bytes of the log and sessions (`state.db` and what SQLite keeps beside it).
        data: bytes of the packs' own data folders.
        used: when something in it last changed, seconds since 1970.
        workspace: bytes of the deployment's workspace, which is never removed; None where there is none.
    """

    kind: Kind
    path: Path
    folder: str = ""
    id: str = ""
    size: int = 0
    log: int = 0
    data: int = 0
    used: float = 0.0
    workspace: int | None = None


def list_kept() -> tuple[Kept, ...]:
    """Return everything that is kept for this person, deployments first, the largest of a kind first."""
    root = state_root()
    found = [_deployment(path) for path in _folders(root / "deployments")]
    if (root / "index").is_dir():
        size, used = _measured(root / "index")
        found.append(Kept(kind="index", path=root / "index", size=size, used=used))
    order = ("deployment", "orphan", "index")
    return tuple(sorted(found, key=lambda kept: (order.index(kept.kind), -kept.size, str(kept.path))))


def kept_for(folder: str | Path) -> Kept:
    """Return what is kept for the deployment in `folder`.

    Raises:
        DeploymentError: nothing is.
    """
    real = Path(os.path.realpath(folder))
    state = find_state(real) if real.is_dir() else None
    if state is None:
        raise DeploymentError(f"nothing is kept for {folder}", remedy="remit state list shows what is")
    return _deployment(state.path)


def packs_data(kept: Kept) -> Iterator[Kept]:
    """Yield the data folder of a deployment's packs as a thing of its own, where there is one."""
    if (kept.path / "data").is_dir():
        yield replace(kept, path=kept.path / "data", id="", size=kept.data, log=0)


def remove_kept(kept: Iterable[Kept]) -> None:
    """Remove what is given, for good. The folders of deployments and their workspaces are not touched.

    Raises:
        DeploymentError: one is in use by another process, or cannot be removed.
    """
    root = state_root()
    for one in kept:
        if not one.path.is_relative_to(root) or one.path == root:
            raise DeploymentError(f"{one.path} is not below the state folder {root}")
        if in_use(one.path.parent if one.path.name == "data" else one.path):
            raise DeploymentError(f"{one.path} is in use by another process", remedy="end it, or use remit kill first")
        _forget(root, one)
        try:
            shutil.rmtree(one.path)
        except OSError as error:
            raise DeploymentError(f"{one.path} cannot be removed: {error.strerror or error}") from error


def in_use(path: Path) -> bool:
    """Whether a process that has started calls for this state lives."""
    return any(is_alive(path, lock.stem) for lock in _files(path / "running"))


def _forget(root: Path, kept: Kept) -> None:
    """Remove what leads to a state, so that nobody finds half of it."""
    for index in _files(root / "folders"):
        try:
            if kept.id and read_plain(index, _LARGEST).decode("ascii").strip() == kept.id:
                index.unlink()
        except (OSError, ValueError):
            continue


def _deployment(path: Path) -> Kept:
    identity = _identity(path)
    folder = str(identity.get("path", ""))
    size, used = _measured(path)
    log = sum(_size(file) for file in _files(path) if file.name.startswith("state.db"))
    alive = bool(folder) and _is_here(identity)
    return Kept(
        kind="deployment" if alive else "orphan",
        path=path,
        folder=folder,
        id=path.name,
        size=size,
        log=log,
        data=_measured(path / "data")[0],
        used=used,
        workspace=_workspace(Path(folder)) if alive else None,
    )


def _identity(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_plain(path / "folder.json", _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_here(identity: dict[str, Any]) -> bool:
    """Whether the folder is still the one that this state was made for, and holds a deployment."""
    try:
        facts = os.stat(identity["path"])
        return (facts.st_dev, facts.st_ino) == (identity["device"], identity["inode"]) and os.path.isfile(
            os.path.join(identity["path"], "remit.toml")
        )
    except (OSError, KeyError, TypeError, ValueError):
        return False


def _workspace(folder: Path) -> int | None:
    from remit.deployment.anchors import workspace_of
    from remit.deployment.files import read_files
    from remit.errors import RemitError

    try:
        place = workspace_of(folder, read_files(folder).config.config.workspace)
    except RemitError:
        return None
    return _measured(place)[0] if place.is_dir() else None


def _folders(path: Path) -> list[Path]:
    return [entry for entry in _entries(path) if entry.is_dir() and not entry.is_symlink()]


def _files(path: Path) -> list[Path]:
    return [entry for entry in _entries(path) if entry.is_file() and not entry.is_symlink()]


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _measured(path: Path) -> tuple[int, float]:
    """Return the bytes of all files below a folder, and when the youngest of them changed."""
    total, youngest = 0, 0.0
    for file in _below(path):
        try:
            facts = file.stat(follow_symlinks=False)
        except OSError:
            continue
        total += facts.st_size
        youngest = max(youngest, facts.st_mtime)
    return total, youngest


def _below(path: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                yield entry


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
