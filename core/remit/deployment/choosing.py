"""Switching single skills of a pack on and off, and changing what one pack is granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.deployment.config import PackConfig
from remit.deployment.edit import edited_pack, planned_files
from remit.deployment.enable import enable
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import MANAGED_FILE, canonical, load_managed
from remit.deployment.load import nearest
from remit.deployment.proposal import Proposal, changes_between
from remit.deployment.trust import standing
from remit.errors import DeploymentError, UsageError
from remit.state_folder import find_state

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


def with_skills(folder: str | Path, pack: str, skills: Sequence[str]) -> list[str] | None:
    """Return the skills of a pack that `enable` has to choose so that these can be called, too.

    None where every skill of the pack can be called already. Of a pack that is not enabled, only these.
    """
    table = _table(read_files(folder), canonical(pack))
    if table.enabled and table.skills is None:
        return None
    before = table.skills or () if table.enabled else ()
    return list(dict.fromkeys([*before, *skills]))


def disable_skills(folder: str | Path, pack: str, skills: Sequence[str], *, managed: Path = MANAGED_FILE) -> Proposal:
    """Propose to switch single skills off; one that is off already stays so. With the last the pack is switched off.

    Nothing of the pack is read: what is locked says which skills it has.

    Raises:
        DeploymentError: the pack is not enabled, or the deployment knows no such skill of it.
    """
    files, name = read_files(folder), canonical(pack)
    chosen, locked = _chosen(files, name), files.lock.packs.get(name)
    for skill in skills:
        if skill not in chosen and (locked is None or skill not in locked.skills):
            close = nearest(skill, chosen)
            hint = f"; did you mean {close!r}?" if close else f"; those are {', '.join(chosen) or 'none'}"
            raise DeploymentError(f"pack {name} has no skill {skill!r} that can be called here{hint}")
    left = [skill for skill in chosen if skill not in skills]
    values: dict[tuple[str, ...], Any] = {("skills",): left} if left else {("enabled",): False}
    text = edited_pack(files.config.text, name, values, files.config.path)
    upper = load_managed(managed)
    trusted = standing(files, find_state(files.folder), managed=upper.config.trust if upper else ()).trusted
    what = "none of its skills" if not left else f"{', '.join(skills)}"
    return Proposal(
        pack=name,
        lines=(f"pack {name}: {what} can be called any more",),
        skills=tuple(left),
        changes=changes_between(files, planned_files(files, text, files.lock)),
        before=files,
        text=text,
        lock=files.lock,
        accepts=trusted,
    )


def regrant(
    folder: str | Path,
    pack: str,
    grants: Mapping[str, Any],
    *,
    paths: Sequence[str] | None = None,
    sandbox: Sandbox | None = None,
) -> Proposal:
    """Propose to change some keys of what an enabled pack is granted.

    Args:
        folder: the deployment's folder.
        pack: the pack's name.
        grants: flat key (`fs.read`) to entries, or to None for what the pack asks for.
        paths: site folders; None for this interpreter's own.
        sandbox: used to describe; None makes one for the purpose.

    Raises:
        UsageError: the pack is not enabled here.
        PolicyError: the grant is wider than the permission, or opens something protected.
    """
    name = canonical(pack)
    if not _table(read_files(folder), name).enabled:
        raise UsageError(f"pack {pack} is not enabled here", remedy=f"remit packs enable {pack} --grant KEY=VALUE")
    return enable(folder, name, regrants=grants, paths=paths, sandbox=sandbox)


def _chosen(files: DeploymentFiles, name: str) -> tuple[str, ...]:
    table, locked = _table(files, name), files.lock.packs.get(name)
    if not table.enabled:
        raise DeploymentError(f"pack {name} is not enabled here", remedy="remit packs list shows what is")
    if table.skills is not None:
        return table.skills
    if locked is None:
        raise DeploymentError(
            f"nothing of pack {name} is locked, so its skills are not known", remedy=f"remit packs disable {name}"
        )
    return tuple(locked.skills)


def _table(files: DeploymentFiles, name: str) -> PackConfig:
    packs = files.config.config.packs
    return next((pack for written, pack in packs.items() if canonical(written) == name), PackConfig())
