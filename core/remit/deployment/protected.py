"""What no pack may ever write: policy, lock, state, keys, `.git`, the interpreter's files, shell start files.

The kernel's rules can only add rights, so a grant that contains one of these cannot be cut down: it
is refused, and narrower ones are proposed.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from remit.state_folder import state_root

SHELL_START_FILES = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xsessionrc",
    ".pam_environment",
    ".pythonrc",
    ".gitconfig",
    ".netrc",
    ".pypirc",
)
HOME_FOLDERS = (".ssh", ".gnupg", ".config/fish", ".config/git", ".config/systemd", ".config/autostart")
SYSTEM_FOLDERS = ("/etc", "/proc", "/sys", "/dev", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64")
MANAGED = Path("/etc/remit/remit.toml")
_ENTRIES_SEEN = 5_000
_NESTED = {
    ".git": "the git history",
    "pyvenv.cfg": "a virtual environment",
    "remit.toml": "the policy of a deployment",
    "remit.lock": "the lock of a deployment",
}


@dataclass(frozen=True, kw_only=True)
class Protected:
    """One path that must not be written, and what it is, in words."""

    path: Path
    what: str


def protected_paths(folder: Path) -> tuple[Protected, ...]:
    """Return what is protected around the deployment in `folder`, as absolute real paths."""
    return tuple(_listed(folder))


def _listed(folder: Path) -> Iterator[Protected]:
    for name, what in (("remit.toml", "the policy"), ("remit.lock", "the lock"), (".git", "the git history")):
        yield Protected(path=_real(folder / name), what=what)
    yield Protected(path=_real(MANAGED.parent), what="the managed policy")
    yield Protected(path=_real(state_root()), what="Remit's state and keys")
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix} - {"/"}:
        yield Protected(path=_real(Path(prefix)), what="the Python environment")
    for entry in sys.path:
        if os.path.isabs(entry) and Path(entry).name in ("site-packages", "dist-packages"):
            yield Protected(path=_real(Path(entry)), what="Python's library folder")
    home = _home()
    if home is not None:
        for name in SHELL_START_FILES:
            yield Protected(path=_real(home / name), what="a shell start file")
        for name in HOME_FOLDERS:
            yield Protected(path=_real(home / name), what="keys and start files")
    for name in SYSTEM_FOLDERS:
        yield Protected(path=_real(Path(name)), what="a system folder")


def conflict(root: Path, protected: Iterable[Protected]) -> Protected | None:
    """Return what a right to write `root` and all below it would open, None when it opens nothing.

    `root` is an absolute real path. Nested `.git` folders and virtual environments count, too.
    """
    for one in protected:
        if root == one.path or one.path.is_relative_to(root) or root.is_relative_to(one.path):
            return one
    if ".git" in root.parts:
        return Protected(path=root, what="the git history")
    return _nested(root)


def narrower(root: Path, protected: Iterable[Protected], *, most: int = 3) -> tuple[Path, ...]:
    """Return up to `most` folders right below `root` that can be granted instead."""
    listed = tuple(protected)
    if any(root.is_relative_to(one.path) for one in listed):
        return ()
    try:
        children = sorted(child for child in root.iterdir() if not child.name.startswith("."))
    except OSError:
        return ()
    found: list[Path] = []
    for child in children:
        if len(found) < most and child.is_dir() and not child.is_symlink() and conflict(child, listed) is None:
            found.append(child)
    return tuple(found)


def _nested(root: Path) -> Protected | None:
    """Look for policy, `.git` or a virtual environment below `root`, nearest first, within a bound."""
    waiting = deque([root])
    seen = 0
    while waiting and seen < _ENTRIES_SEEN:
        for entry in _entries(waiting.popleft()):
            seen += 1
            if entry.name in _NESTED:
                return Protected(path=Path(entry.path), what=_NESTED[entry.name])
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
    return None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _home() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home if home.is_absolute() else None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
