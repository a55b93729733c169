"""The verdict on one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remit.policy.remedy import PATHS, READ_ONLY, Step, remedy
from remit.policy.rules import Rules, Scene
from remit.policy.targets import unclear
from remit.provenance.judge import Finding, judge, judge_read
from remit.provenance.ledger import Ledger
from remit.skills import Skill
from remit.values import VERDICTS, Decision, Impact, Verdict

FLOORS: Mapping[Impact, Verdict] = {
    "destroy": "ask",
    "money": "ask-apart",
    "publish": "ask-apart",
    "privacy": "ask-apart",
    "authority": "ask-apart",
}
"""What an impact asks for at least, whatever the rules say."""

_IMPACT_WORDS: Mapping[Impact, str] = {
    "destroy": "it destroys something",
    "money": "it moves money",
    "publish": "it publishes something",
    "privacy": "it reveals private data",
    "authority": "it gives power to somebody",
}

PROVENANCE = "provenance"
"""The source of what the origin of a call's values settles or asks."""

ALWAYS = "its nature"
"""The source of what a skill of the host asks for in any case."""

_EFFECT_WORDS = {
    "read": "it reads",
    "write": "it changes something in the deployment's folders",
    "external": "it reaches the world outside",
}


def decide(
    skill: Skill, arguments: Mapping[str, Any], rules: Rules, scene: Scene, ledger: Ledger | None = None
) -> Decision:
    """Return the verdict on a call: the strictest of rules, impact floors and base.

    Args:
        skill: what is called.
        arguments: typed and validated.
        rules: of the deployment.
        scene: in which the call is decided.
        ledger: what the session has heard and read; None where nobody knows, and provenance settles nothing.
    """
    matching = rules.matching(skill, arguments, scene)
    allowing = [rule.id for rule in matching if rule.verdict == "allow"]
    finding = None if allowing else _finding(skill, arguments, rules, ledger)
    steps = sorted(
        (
            *_read_only(skill, scene),
            *((rule.verdict, f"rule {rule.id}", rule.reason) for rule in matching if rule.verdict != "allow"),
            *(_floor(impact, rules) for impact in sorted(skill.impact)),
            *((("ask", ALWAYS, skill.asks),) if skill.asks else ()),
            _base(skill, rules, scene, allowing, finding),
        ),
        key=_gravity,
    )
    if steps[0][0] in ("ask", "ask-apart") or (steps[0][0] == "allow" and skill.effect != "read"):
        steps = [*_unclear(skill, arguments), *steps]
    verdict, source, reason = steps[0]
    return Decision(
        verdict=verdict,
        reason=reason,
        source=source,
        rules=tuple(rule.id for rule in matching),
        steps=tuple(steps),
        remedy="" if verdict == "allow" else remedy(skill, steps, rules),
        origins=() if finding is None else finding.origins,
    )


def _floor(impact: Impact, rules: Rules) -> Step:
    if impact in rules.defaults.two_person:
        return "ask-apart", f"impact {impact}", f"{_IMPACT_WORDS[impact]}, and two people must agree to that"
    return FLOORS[impact], f"impact {impact}", _IMPACT_WORDS[impact]


def approvers(skill: Skill, rules: Rules) -> int:
    """Return how many people must sign a call of `skill` off, where it needs a sign-off at all."""
    return 2 if skill.impact & set(rules.defaults.two_person) else 1


def _finding(skill: Skill, arguments: Mapping[str, Any], rules: Rules, ledger: Ledger | None) -> Finding | None:
    """Ask provenance where it has a say: it settles the default's question, and watches what reads carry out."""
    defaults = rules.defaults
    if ledger is None:
        return None
    if skill.effect == "read":
        return judge_read(skill, arguments, ledger, defaults.provenance) if defaults.egress else None
    return judge(skill, arguments, ledger, defaults.provenance) if defaults.provenance != "off" else None


def _gravity(step: Step) -> tuple[int, int, str]:
    """Order steps: the strictest first; of equal ones that which is hardest to lift, the default last."""
    kinds = (READ_ONLY, "impact ", "rule ", "default ")
    kind = next((number for number, start in enumerate(kinds) if step[1].startswith(start)), len(kinds))
    return -VERDICTS.index(step[0]), kind, step[1]


def read_only_step(skill: Skill) -> Step:
    """Return what read-only mode says about a skill that does more than read."""
    return "deny", READ_ONLY, f"read-only mode: {skill.full} does more than read"


def _read_only(skill: Skill, scene: Scene) -> Iterator[Step]:
    if skill.withheld or (scene.read_only and skill.effect != "read"):
        yield read_only_step(skill)


def _unclear(skill: Skill, arguments: Mapping[str, Any]) -> Iterator[Step]:
    """Refuse what changes something, or a person would be asked about, where nobody can tell which file it is."""
    why = unclear(skill, arguments)
    if why:
        yield "deny", PATHS, why


def _base(skill: Skill, rules: Rules, scene: Scene, allowing: list[str], finding: Finding | None) -> Step:
    if allowing:
        return "allow", f"rule {allowing[0]}", f"rule {allowing[0]} allows it"
    verdict, source = rules.defaults.verdict(skill.effect), f"default {skill.effect}"
    if verdict == "ask" and skill.effect == "write" and scene.yes_to_writes and rules.defaults.allow_yes:
        return "allow", "--yes-to-writes", "writes were agreed to beforehand"
    if finding is not None and finding.settled and verdict == "ask" and skill.effect != "read":
        return "allow", PROVENANCE, finding.reason
    if finding is not None and not finding.settled:
        if verdict == "ask":
            return "ask", source, f"{_EFFECT_WORDS[skill.effect]}, and {finding.reason}"
        if verdict == "allow" and skill.effect == "read":
            return "ask", PROVENANCE, finding.reason
    says = {"allow": "is allowed", "deny": "is refused"}.get(verdict, "needs a person's sign-off")
    return verdict, source, f"{_EFFECT_WORDS[skill.effect]}, and that {says} by default"
