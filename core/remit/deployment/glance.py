"""Which packs a deployment switches on, read without checking anything: for listings that must be quick."""

from __future__ import annotations

import tomllib
from pathlib import Path

from remit.packs.installed import fold

_MOST_BYTES = 1024 * 1024


def enabled_packs(folder: str | Path = ".") -> dict[str, bool] | None:
    """Return pack to whether `remit.toml` enables it; None where there is no readable file.

    For display only: whether a pack can really be used is for `Deployment.open` to say.
    """
    path = Path(folder) / "remit.toml"
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        packs = tomllib.loads(path.read_text("utf-8-sig")).get("packs", {})
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(packs, dict):
        return None
    return {
        fold(name).replace("-", "_"): isinstance(pack, dict) and pack.get("enabled") is True
        for name, pack in packs.items()
    }
