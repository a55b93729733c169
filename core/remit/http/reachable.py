"""Which skills could send a request to a server of this machine, and so answer their own questions.

Sign-off that is worth the name needs a channel that the agent's tools cannot reach. A token is one: no tool has
it. Without tokens whatever runs on this machine may connect, so nothing may be approved there while a skill could
do it: a function of the host, a skill that may reach non-public addresses, or any skill where the network is not
held.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.skills import RESERVED_PACK, Skill

_HELD = ("kernel", "broker")


def reaching_this_machine(skills: Iterable[Skill], host_skills: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the full names of the skills that could, sorted.

    Args:
        skills: of the deployment, or of an agent in it.
        host_skills: functions that the deployment allows to programs, in whichever process.
    """
    found = {skill.full for skill in skills if not skill.withheld and _could(skill)}
    return tuple(sorted(found | set(host_skills)))


def _could(skill: Skill) -> bool:
    if skill.pack == RESERVED_PACK:
        return False
    if not skill.confined or skill.cell is None or skill.cell.rights.private_net:
        return True
    return skill.cell.enforcement != "kernel" and not _network_is_held()


def _network_is_held() -> bool:
    from remit_sandbox.probe import probe

    rows = [row for row in probe().rows if row.right.startswith("network")]
    return bool(rows) and all(row.by in _HELD for row in rows)
