"""Why a skill cannot be called here, and the exact line or command that would change that. For people."""

from __future__ import annotations

from dataclasses import dataclass

from remit.deployment.assemble import closest_skill
from remit.deployment.deployment import Deployment
from remit.deployment.layers import canonical


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A reason and what would help."""

    reason: str
    remedy: str


def allow_remedy(deployment: Deployment, skill: str) -> Remedy:
    """Say why `skill` is not among the usable skills of `deployment`.

    Args:
        deployment: an open deployment.
        skill: as it was written, `pack.skill` or `pack__skill`.
    """
    pack, name = _split(skill)
    config = deployment.config.packs.get(pack)
    for problem in deployment.problems:
        if problem.pack == pack and (
            problem.reason.startswith(f"skill {name}:") or pack not in deployment.assembled.packs
        ):
            return Remedy(reason=str(problem.reason), remedy=problem.remedy)
    if pack in deployment.inventory.packs and (config is None or not config.enabled):
        return Remedy(reason=f"pack {pack} is not enabled", remedy=f"remit packs enable {pack}")
    parts = deployment.assembled.packs.get(pack)
    if parts is not None and name in parts.manifest.skills:
        if name not in parts.chosen():
            names = ", ".join(f'"{one}"' for one in (*parts.chosen(), name))
            return Remedy(
                reason=f"skill {name} of pack {pack} is not among its chosen skills",
                remedy=f"in [packs.{pack}] write skills = [{names}]",
            )
        if deployment.read_only:
            return Remedy(reason=f"skill {pack}.{name} does more than read", remedy="run it without --read-only")
    return _unknown(deployment, skill)


def _split(skill: str) -> tuple[str, str]:
    mark = "." if "." in skill else "__"
    pack, _, name = skill.partition(mark)
    return canonical(pack), name


def _unknown(deployment: Deployment, skill: str) -> Remedy:
    close = closest_skill(skill.replace("__", "."), deployment.skills)
    hint = f"; did you mean {close}?" if close else ""
    return Remedy(reason=f"there is no skill {skill!r}{hint}", remedy="remit packs list")
