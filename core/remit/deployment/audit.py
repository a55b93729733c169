"""The permission matrix: what each skill asks for, is given, and can really do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remit.deployment.audit_agents import above
from remit.deployment.deployment import Deployment
from remit.policy.decide import decide
from remit.policy.rules import Rule, Rules, Scene
from remit.policy.switched import SOURCE as SWITCHED_OFF
from remit.skills import READ_RESULT, Skill
from remit.state.switches import Switches
from remit.values import Effect, Verdict
from remit_sandbox.values import Enforced


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """One skill in the matrix, in plain values that become JSON as they are.

    Attributes:
        pack: the pack's name.
        version: of the pack; empty for skills of the host.
        skill: full name.
        effect: the effective effect.
        declared_effect: what the manifest says.
        verified: False where a declared `read` was accepted on trust.
        impact: impact tags, sorted.
        permission: what it asks for.
        grant: what it is given.
        right: permission, grant and mode together.
        private_net: hosts of the right whose non-public addresses are allowed.
        verdict: of a call that only rules without conditions speak about.
        source: where that verdict comes from.
        rules: rules that may speak about it, too, depending on arguments, scene or who asks.
        enforcement: right to who enforces it on this machine.
        confined: False for what runs in the host.
        dev: an editable install, derived anew per run.
    """

    pack: str
    version: str
    skill: str
    effect: Effect
    declared_effect: Effect
    verified: bool
    impact: tuple[str, ...]
    permission: Mapping[str, tuple[str, ...]]
    grant: Mapping[str, tuple[str, ...]]
    right: Mapping[str, tuple[str, ...]]
    private_net: tuple[str, ...]
    verdict: Verdict
    source: str
    rules: tuple[str, ...] = ()
    enforcement: Mapping[str, str] = field(default_factory=dict)
    confined: bool = True
    dev: bool = False


def audit_rows(
    deployment: Deployment,
    *,
    skills: Iterable[Skill] | None = None,
    enforcement: Iterable[Enforced] | None = None,
    agent: str = "",
) -> tuple[AuditRow, ...]:
    """Return the matrix, sorted by skill.

    Args:
        deployment: the deployment.
        skills: to show instead of the deployment's own (a pipeline has the host's skills, too).
        enforcement: rows of `remit_sandbox.probe`; None to probe this machine now.
        agent: name of the agent that calls, for rules.
    """
    rows = enforcement if enforcement is not None else _probed()
    held = {row.right: row.by for row in rows}
    shown = deployment.skills.values() if skills is None else skills
    scene = Scene(agent=agent, above=above(deployment, agent))
    return tuple(_row(skill, deployment, held, scene) for skill in sorted(shown, key=lambda skill: skill.full))


def _probed() -> tuple[Enforced, ...]:
    from remit_sandbox.probe import probe

    return tuple(probe().rows)


def _row(skill: Skill, deployment: Deployment, held: Mapping[str, str], scene: Scene) -> AuditRow:
    verdict, source = _verdict(skill, deployment, scene)
    about = [rule for rule in deployment.rules.about(skill) if not _about_others(rule, scene)]
    parts = deployment.assembled.packs.get(skill.pack)
    return AuditRow(
        pack=skill.pack,
        version=skill.version,
        skill=skill.full,
        effect=skill.effect,
        declared_effect=skill.declared_effect,
        verified=not (skill.effect == "read" and {"net", "secrets"} & set(skill.grant)),
        impact=tuple(sorted(skill.impact)),
        permission=skill.permission,
        grant=skill.grant,
        right=skill.right,
        private_net=skill.cell.rights.private_net if skill.cell else (),
        verdict=verdict,
        source=source,
        rules=tuple(rule.id for rule in about if not _unconditional(rule, scene)),
        enforcement=dict(held) if skill.confined else {"all": "not enforced"},
        confined=skill.confined,
        dev=bool(parts and parts.installed.editable),
    )


def _verdict(skill: Skill, deployment: Deployment, scene: Scene) -> tuple[Verdict, str]:
    """Return the verdict of a call that only rules without conditions speak about, and where it comes from."""
    if Switches(deployment.state_folder).off(skill.pack, skill.name) is not None:
        return "deny", SWITCHED_OFF
    if skill.full == READ_RESULT:
        return "allow", "host skill"
    always = tuple(rule for rule in deployment.rules.about(skill) if _unconditional(rule, scene))
    decision = decide(skill, {}, Rules(rules=always, defaults=deployment.rules.defaults), scene)
    return decision.verdict, decision.source


def _unconditional(rule: Rule, scene: Scene) -> bool:
    """Whether a rule speaks about every call that an agent makes of the skills that it means."""
    match, when = rule.match.config, rule.when
    always = when is None or (
        when.interactive is None
        and when.unattended is None
        and when.agent is not None
        and rule.speaks_of(scene.agent, scene.above)
    )
    return always and not match.arguments and match.asked_by is None and rule.unless is None


def _about_others(rule: Rule, scene: Scene) -> bool:
    """Whether a rule speaks about other agents than this one; of the one without a name nobody knows that."""
    return bool(scene.agent) and not rule.speaks_of(scene.agent, scene.above)
