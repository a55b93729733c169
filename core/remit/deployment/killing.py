"""The switches of a deployment: `remit kill`. They work while `remit.toml` is broken, too."""

from __future__ import annotations

from pathlib import Path

from remit.account import account
from remit.deployment.files import DeploymentFiles, read_files, real_folder
from remit.deployment.layers import canonical
from remit.deployment.load import nearest
from remit.errors import RemitError, UsageError
from remit.skills import RESERVED_PACK
from remit.state.store import State
from remit.state.switches import EVERYTHING, Off, Switches, off_now
from remit.state_folder import find_state, open_state

_HOST = (RESERVED_PACK, "local")
_LONGEST = 500


def switched_off(folder: str | Path) -> tuple[Off, ...]:
    """Return what is switched off in the deployment in `folder`."""
    state = find_state(real_folder(folder))
    return Switches(state.path).all() if state else ()


def switch_off(folder: str | Path, name: str, *, reason: str = "") -> Off:
    """Switch a skill, a pack or everything (`*`) off, and record it as `pack.killed`.

    The switch is set even where the log cannot be written.

    Raises:
        UsageError: this deployment knows no such pack or skill; the nearest is named.
        StateError: the switch itself cannot be set.
    """
    real = real_folder(folder)
    known = _checked(name, real)
    state = find_state(real)
    if state is None:
        read_files(real)
        state = open_state(real)
    off = off_now(known, reason=" ".join(reason.split())[:_LONGEST], who=account())
    Switches(state.path).switch_off(off)
    _record(state.path, "pack.killed", off)
    return off


def restore(folder: str | Path, name: str) -> bool:
    """Switch a skill, a pack or everything on again, and record it as `pack.restored`; False when it was not off.

    Raises:
        StateError: the switches cannot be read or written.
    """
    state = find_state(real_folder(folder))
    known = name if name == EVERYTHING else _canonical(name)
    if state is None or not Switches(state.path).restore(known):
        return False
    _record(state.path, "pack.restored", off_now(known, reason="", who=account()))
    return True


def still_off(folder: str | Path, name: str) -> Off | None:
    """Return what keeps a pack or skill switched off; for everything, and where it is on, None."""
    pack, _, skill = _canonical(name).partition(".")
    state = find_state(real_folder(folder))
    return None if state is None or name == EVERYTHING else Switches(state.path).off(pack, skill)


def _record(folder: Path, event: str, off: Off) -> None:
    body = {"name": off.name, "reason": off.reason, "by": off.who}
    skill = off.name if "." in off.name else ""
    try:
        with State(folder) as log:
            log.append(event, skill=skill, body=body, who=off.who)
    except RemitError:
        return  # a full disk must not keep anybody from switching something off


def _canonical(name: str) -> str:
    pack, dot, skill = name.partition(".")
    return f"{canonical(pack)}{dot}{skill}"


def _checked(name: str, folder: Path) -> str:
    """Return the canonical name; a typing error here would leave running what was meant to stop."""
    if name == EVERYTHING:
        return name
    found = _canonical(name)
    pack, _, skill = found.partition(".")
    try:
        known = _known(read_files(folder))
    except RemitError:
        return found
    if pack in _HOST or (skill and found in known) or (not skill and pack in {one.partition(".")[0] for one in known}):
        return found
    names = sorted({*known, *(one.partition(".")[0] for one in known)})
    close = nearest(found, names)
    hint = f"; did you mean {close!r}?" if close else ""
    remedy = "remit packs list shows the packs, remit audit their skills"
    raise UsageError(f"this deployment knows no {name!r}{hint}", remedy=remedy)


def _known(files: DeploymentFiles) -> set[str]:
    """Return packs and skills that are written or locked here."""
    packs = {canonical(written) for written in files.config.config.packs} | set(files.lock.packs)
    skills = {f"{name}.{skill}" for name, locked in files.lock.packs.items() for skill in locked.skills}
    chosen = {
        f"{canonical(written)}.{skill}"
        for written, table in files.config.config.packs.items()
        for skill in table.skills or ()
    }
    return packs | skills | chosen
