"""Unpacks inspected wheels beside the environment, so that a pack can be described before it is installed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from remit.errors import PackError
from remit.installing.closure import Closure
from remit.packs.archive import Archive
from remit.packs.wheel import WheelFacts


def unpack(closure: Closure, folder: Path) -> None:
    """Put what would go into the site folder into `folder`, which is new and private. Nothing of it runs.

    Raises:
        PackError: a wheel changed since it was inspected.
    """
    for wheel in closure.wheels:
        _unpack(wheel, folder)


def _unpack(wheel: WheelFacts, folder: Path) -> None:
    with Archive(wheel.path) as archive:
        for file in wheel.files.values():
            if file.target.startswith("../"):
                continue
            target = folder / file.target
            target.parent.mkdir(parents=True, exist_ok=True)
            total = hashlib.sha256()
            with target.open("xb") as copy:
                for piece in archive.pieces(file.name):
                    total.update(piece)
                    copy.write(piece)
            if total.hexdigest() != file.sha256:
                raise PackError(f"{wheel.path.name} changed while it was read")
