"""The whole answer of `remit audit`: what can be reached, through which skill, who allowed it, what is not used."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from remit.deployment.audit import AuditRow, audit_rows
from remit.deployment.audit_agents import AgentRow, agent_rows
from remit.deployment.deployment import Deployment
from remit.packs.installed import PackProblem
from remit.skills import RESERVED_PACK, Skill
from remit.state.store import State
from remit.state.switches import Off, Switches
from remit.state.usage import Usage, first_record, usage_since
from remit_sandbox.values import Enforced

DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class SkillUse:
    """How one skill was used, and who allowed it.

    Attributes:
        calls: within the days that were asked for.
        denied: times that its cell was refused something in those days.
        last: ISO time, UTC, of its last call, however long ago; empty for never.
        allowed_by: who allowed what it may do now; empty where nobody on this machine did.
        allowed_at: ISO time, UTC; empty as above.
    """

    calls: int = 0
    denied: int = 0
    last: str = ""
    allowed_by: str = ""
    allowed_at: str = ""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """One thing that the deployment can reach.

    Attributes:
        key: of the permission, `net`.
        entry: `api.example.com:443`.
        skills: full names of those that reach it.
        calls: of these skills, within the days that were asked for.
        private: non-public addresses of this host may be reached, too.
    """

    key: str
    entry: str
    skills: tuple[str, ...]
    calls: int
    private: bool = False

    @property
    def what(self) -> str:
        """The entry, with what goes beyond it."""
        return f"{self.entry} (private addresses, too)" if self.private else self.entry


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a deployment may do, in plain values that become JSON as they are.

    Attributes:
        folder: of the deployment.
        made: ISO time, UTC.
        mode: empty, `read-only` or `read-only, strict`.
        enforcement: what the deployment demands.
        accepted_by: who accepted the deployment as it is: a person, or `digest`, `managed`.
        accepted_at: ISO time, UTC; empty where no person did.
        days: that usage is counted over.
        log_since: ISO time, UTC, of the first record; empty for an empty log.
        rows: the matrix, sorted by skill.
        use: full name to how it was used.
        reach: what can be reached, the gravest key first.
        unused: full names of skills that no call used in these days.
        withdrawable: entries of the reach that only unused skills have.
        problems: packs and skills that are left out.
        off: what is switched off by `remit kill`.
        agent: name of the agent whose matrix it is; empty for the one that a person asks.
        agents: the agents that can be asked, in every place in which they can be.
    """

    folder: str
    made: str
    mode: str
    enforcement: str
    accepted_by: str
    accepted_at: str
    days: float
    log_since: str
    rows: tuple[AuditRow, ...]
    use: Mapping[str, SkillUse]
    reach: tuple[Reach, ...]
    unused: tuple[str, ...]
    withdrawable: tuple[Reach, ...]
    problems: tuple[PackProblem, ...]
    off: tuple[Off, ...]
    agent: str = ""
    agents: tuple[AgentRow, ...] = ()


_GRAVITY = ("exec", "fs.write", "net", "secrets", "fs.read", "env", "shm")


def audit_report(
    deployment: Deployment,
    state: State,
    *,
    skills: Iterable[Skill] | None = None,
    days: float = 30.0,
    enforcement: Iterable[Enforced] | None = None,
    agent: str = "",
) -> Report:
    """Return everything that an audit asks for.

    Args:
        deployment: an open deployment.
        state: its state.
        skills: to show instead of the deployment's own (a pipeline has the host's skills, too).
        days: over which usage is counted.
        enforcement: rows of `remit_sandbox.probe`; None to probe this machine now.
        agent: name of the agent whose skills these are; empty for the one that a person asks.

    Raises:
        StateError: the log cannot be read.
    """
    rows = audit_rows(deployment, skills=skills, enforcement=enforcement, agent=agent)
    used = usage_since(state, time.time() - days * DAY)
    use = {row.skill: _use(row.skill, used.get(row.skill, Usage()), deployment) for row in rows}
    reach = _reach(rows, use)
    unused = tuple(row.skill for row in rows if not use[row.skill].calls and row.pack != RESERVED_PACK)
    acceptance = deployment.standing.acceptance
    person = acceptance if deployment.standing.by in ("person", "narrower") else None
    return Report(
        folder=str(deployment.folder),
        made=_moment(time.time()),
        mode={False: "", True: "read-only", "strict": "read-only, strict"}[deployment.read_only],
        enforcement=deployment.config.defaults.enforcement,
        accepted_by=person.who if person else deployment.standing.by,
        accepted_at=person.when if person else "",
        days=days,
        log_since=_moment(first_record(state)),
        rows=rows,
        use=use,
        reach=reach,
        unused=unused,
        withdrawable=tuple(one for one in reach if set(one.skills) <= set(unused)),
        problems=deployment.problems,
        off=Switches(deployment.state_folder).all(),
        agent=agent,
        agents=agent_rows(deployment),
    )


def _use(skill: str, usage: Usage, deployment: Deployment) -> SkillUse:
    acceptance = deployment.standing.acceptance
    allowed = acceptance.skills.get(skill) if acceptance else None
    return SkillUse(
        calls=usage.calls,
        denied=usage.denied,
        last=_moment(usage.last),
        allowed_by=allowed.who if allowed else "",
        allowed_at=allowed.when if allowed else "",
    )


def _reach(rows: Sequence[AuditRow], use: Mapping[str, SkillUse]) -> tuple[Reach, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    private = {entry for row in rows for entry in row.private_net}
    for row in rows:
        for key in _GRAVITY:
            for entry in row.right.get(key, ()):
                found.setdefault((key, entry), []).append(row.skill)
    order = sorted(found, key=lambda one: (_GRAVITY.index(one[0]), one[1]))
    return tuple(
        Reach(
            key=key,
            entry=entry,
            skills=tuple(found[key, entry]),
            calls=sum(use[skill].calls for skill in found[key, entry]),
            private=key == "net" and entry in private,
        )
        for key, entry in order
    )


def _moment(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
