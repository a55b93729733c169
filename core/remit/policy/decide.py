"""The verdict on one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remit.policy.rules import Rules, Scene
from remit.skills import Skill
from remit.values import VERDICTS, Decision, Impact, Verdict

Step = tuple[Verdict, str, str]
"""A contribution: verdict, source, reason."""

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

_EFFECT_WORDS = {
    "read": "it reads",
    "write": "it changes something in the deployment's folders",
    "external": "it reaches the world outside",
}


def decide(skill: Skill, arguments: Mapping[str, Any], rules: Rules, scene: Scene) -> Decision:
    """Return the verdict on a call: the strictest of rules, impact floors and base.

    Args:
        skill: what is called.
        arguments: typed and validated.
        rules: of the deployment.
        scene: in which the call is decided.
    """
    matching = [rule for rule in rules.about(skill) if rule.applies(skill, arguments, scene)]
    steps = sorted(
        (
            *_read_only(skill, scene),
            *((rule.verdict, f"rule {rule.id}", rule.reason) for rule in matching if rule.verdict != "allow"),
            *((FLOORS[impact], f"impact {impact}", _IMPACT_WORDS[impact]) for impact in sorted(skill.impact)),
            _base(skill, rules, scene, [rule.id for rule in matching if rule.verdict == "allow"]),
        ),
        key=lambda step: (-VERDICTS.index(step[0]), step[1]),
    )
    verdict, source, reason = steps[0]
    return Decision(
        verdict=verdict,
        reason=reason,
        source=source,
        rules=tuple(rule.id for rule in matching),
        steps=tuple(steps),
        remedy="" if verdict == "allow" else remedy(skill, steps),
    )


def remedy(skill: Skill, steps: list[Step]) -> str:
    """Return the lines or commands that would let the call run, one for each step that stands against it."""
    lines = (_remedy(skill, step) for step in steps if step[0] != "allow")
    return "\n".join(dict.fromkeys(lines))


def read_only_step(skill: Skill) -> Step:
    """Return what read-only mode says about a skill that does more than read."""
    return "deny", "read-only mode", f"read-only mode: {skill.full} does more than read"


def _read_only(skill: Skill, scene: Scene) -> Iterator[Step]:
    if scene.read_only and skill.effect != "read":
        yield read_only_step(skill)


def _base(skill: Skill, rules: Rules, scene: Scene, allowing: list[str]) -> Step:
    if allowing:
        return "allow", f"rule {allowing[0]}", f"rule {allowing[0]} allows it"
    verdict, source = rules.defaults.verdict(skill.effect), f"default {skill.effect}"
    if verdict == "ask" and skill.effect == "write" and scene.yes_to_writes and rules.defaults.allow_yes:
        return "allow", "--yes-to-writes", "writes were agreed to beforehand"
    says = {"allow": "is allowed", "deny": "is refused"}.get(verdict, "needs a person's sign-off")
    return verdict, source, f"{_EFFECT_WORDS[skill.effect]}, and that {says} by default"


def _remedy(skill: Skill, step: Step) -> str:
    verdict, source, _ = step
    if source == "read-only mode":
        return "run it without --read-only"
    if source.startswith("rule "):
        return f'change or remove the rule with id = "{source.removeprefix("rule ")}" in remit.toml'
    if source.startswith("impact "):
        if verdict == "ask":
            return f"a person must agree to {skill.full} each time: run it on a terminal and answer the question"
        return (
            f"no rule can allow {skill.full}: a person must agree each time, over a channel that the agent"
            " cannot reach (an approver of the embedding program with `apart = True`)"
        )
    return (
        "add to remit.toml, then run `remit trust`:\n"
        f'[[rule]]\nid = "allow-{skill.pack}-{skill.name}"\nverdict = "allow"\n'
        f'match = {{ skill = "{skill.full}" }}'
    )
