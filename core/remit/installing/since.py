"""What became of an environment since an install or removal in it was interrupted."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from remit.installing.wheels_only import written
from remit.packs.folding import fold

if TYPE_CHECKING:
    from remit.installing.journal import Intent

Since = Literal["begun", "untouched", "gone", "changed"]
"""pip had begun, and what it did is to be undone; it had not; there is no such environment any more; another hand has
made the environment anew, or has installed one of the distributions."""


def since(intent: Intent, notes: Path) -> Since:
    """Return what became of the environment that an intent is about.

    Args:
        intent: what was about to be done.
        notes: folder with what pip noted, see `wheels_only`.

    Raises:
        OSError: it cannot be looked at.
    """
    if not Path(intent.site).is_dir():
        return "gone"
    if made(intent.prefix) != intent.made:
        return "changed"
    if not (notes / "begun").exists():
        return "untouched"
    return "changed" if _installed_by_another(intent, _noted(notes / "ended")) else "begun"


def made(prefix: str) -> int:
    """Return when a virtual environment was made, in nanoseconds since 1970; 0 for another one."""
    try:
        return os.stat(os.path.join(prefix, "pyvenv.cfg")).st_mtime_ns
    except FileNotFoundError:
        return 0


def _installed_by_another(intent: Intent, ended: dict[str, int] | None) -> bool:
    """Tell whether one of the distributions is there in a form that neither was before nor is of the interrupted pip.

    While pip had not ended, whatever it was to write counts as its own. One that is not there may be of either.
    """
    names = {_name(info) for info in (*intent.infos, *intent.going)}
    infos = (name for name in os.listdir(intent.site) if name.endswith(".dist-info"))
    there = written([os.path.join(intent.site, name) for name in infos])
    for info, when in there.items():
        if _name(info) not in names or intent.going.get(info) == when:
            continue
        own = info in intent.infos and (ended is None or ended.get(info) == when)
        if not own:
            return True
    return False


def _name(info: str) -> str:
    return fold(os.path.basename(info).partition("-")[0])


def _noted(file: Path) -> dict[str, int] | None:
    """Return what pip noted at its end; None where it did not come so far, or the note was not written whole."""
    with suppress(FileNotFoundError, ValueError):
        return dict(json.loads(file.read_bytes()))
    return None
