"""Keeps the wheels that were inspected and installed, by hash, and which of them each pack was made of."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from remit.installing.fetch import sha256
from remit.state_folder import StateFolder, private_folder, state_root, write_private

MOST_FORMER = 5
"""Former versions of a pack that are remembered."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One version of a pack that was in use.

    Attributes:
        version: of its distribution.
        wheels: file name to `sha256:...`; empty where Remit did not install it.
        lock: text of a `remit.lock` that holds this pack alone.
        table: its table in `remit.toml`: skills, grant, accept_read.
    """

    version: str
    wheels: Mapping[str, str]
    lock: str
    table: Mapping[str, Any]


def keep_wheels(paths: Iterable[Path]) -> None:
    """Put wheels into the store; those that are there already stay."""
    for path in paths:
        folder = private_folder(_root() / sha256(path))
        target = folder / path.name
        if not target.exists():
            draft = folder / f".{os.getpid()}"
            shutil.copyfile(path, draft)
            draft.replace(target)


def kept_wheel(name: str, digest: str) -> Path | None:
    """Return the wheel with this file name and `sha256:...`, None when it is not kept, or was changed."""
    path = _root() / digest.removeprefix("sha256:") / name
    try:
        return path if f"sha256:{sha256(path)}" == digest else None
    except OSError:
        return None


def former(state: StateFolder, pack: str) -> tuple[Kept, ...]:
    """Return what was in use before, the last one first."""
    try:
        listed = json.loads(_former_file(state, pack).read_text("utf-8"))["former"]
        return tuple(Kept(**one) for one in listed)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def remember_former(state: StateFolder, pack: str, kept: Kept) -> None:
    """Put a version on top of the former ones; the same version is not kept twice."""
    others = [one for one in former(state, pack) if one.version != kept.version]
    _write_former(state, pack, [kept, *others])


def forget_former(state: StateFolder, pack: str, version: str) -> None:
    """Take a version off the former ones: it is in use again."""
    _write_former(state, pack, [one for one in former(state, pack) if one.version != version])


def prune(locked: Iterable[Mapping[str, str]]) -> None:
    """Remove wheels that no deployment can go back to.

    Args:
        locked: wheels of the locks that are in use, which stay.
    """
    wanted = {digest for wheels in locked for digest in wheels.values()}
    for listed in state_root().glob("deployments/*/former/*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            for one in json.loads(listed.read_text("utf-8"))["former"]:
                wanted |= set(one["wheels"].values())
    with suppress(OSError):
        for folder in _root().iterdir():
            if f"sha256:{folder.name}" not in wanted:
                shutil.rmtree(folder, ignore_errors=True)


def _write_former(state: StateFolder, pack: str, listed: Iterable[Kept]) -> None:
    facts = [asdict(replace(one, wheels=dict(one.wheels), table=dict(one.table))) for one in listed]
    text = json.dumps({"former": facts[:MOST_FORMER]}, default=list)
    write_private(private_folder(state.path / "former") / f"{pack}.json", text.encode())


def _former_file(state: StateFolder, pack: str) -> Path:
    return state.path / "former" / f"{pack}.json"


def _root() -> Path:
    return private_folder(private_folder(state_root()) / "wheels")
