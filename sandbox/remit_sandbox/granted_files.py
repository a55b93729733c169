"""Which files a grant of a single file means: a rule follows the inode, not the name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from remit_sandbox.values import CellSpec


def files_of(spec: CellSpec) -> Mapping[str, tuple[int, ...]]:
    """Device and inode of each single file granted.

    A program is known by the time of its last change as well, since it was compared with its digest.
    """
    grants = [grant for grant in (*spec.rights.read, *spec.rights.write) if not grant.endswith("/**")]
    found = {path: identity for path in grants if (identity := _identity(path))}
    programs = {f"exec {path}": _identity(path, changed=True) for path in spec.rights.exec}
    return found | {path: identity for path, identity in programs.items() if identity}


def _identity(path: str, *, changed: bool = False) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    identity = found.st_dev, found.st_ino
    return (*identity, found.st_ctime_ns) if changed else identity
