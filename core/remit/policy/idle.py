"""Rules that load and yet change nothing: an allow that something stricter always meets, a rule said twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.policy.decide import FLOORS
from remit.policy.rules import Rule, Rules
from remit.skills import Skill
from remit.values import VERDICTS

if TYPE_CHECKING:
    from remit.policy.config import RuleConfig


def idle_rules(configs: Sequence[RuleConfig], rules: Rules, skills: Mapping[str, Skill]) -> Iterator[str]:
    """Yield what of a deployment's rules has no effect, or contradicts another rule.

    Args:
        configs: as they stand in `remit.toml`.
        rules: the same, loaded.
        skills: full name to skill.
    """
    by_id = {rule.id: rule for rule in rules.rules}
    yield from _contradictions(configs)
    for config in configs:
        rule = by_id[config.id]
        about = [skill for skill in skills.values() if rule.match.may_mean(skill)]
        if about:
            yield from _without_effect(config, rule, rules, about)


def _contradictions(configs: Sequence[RuleConfig]) -> Iterator[str]:
    """Rules about exactly the same calls: the strictest holds, so that the other says nothing."""
    seen: dict[str, RuleConfig] = {}
    for config in configs:
        meaning = json.dumps(config.model_dump(include={"match", "unless", "when"}), sort_keys=True, default=repr)
        other = seen.setdefault(meaning, config)
        if other is config:
            continue
        lax, strict = sorted((config, other), key=lambda one: VERDICTS.index(one.verdict))
        if lax.verdict == strict.verdict:
            yield f"rules {other.id} and {config.id} say the same about the same calls"
        else:
            stricter = f"rule {strict.id} ({strict.verdict})"
            yield f"rule {lax.id} ({lax.verdict}) never counts: {stricter} is about the same calls"


def _without_effect(config: RuleConfig, rule: Rule, rules: Rules, about: Sequence[Skill]) -> Iterator[str]:
    if config.verdict == "allow":
        held = [skill for skill in about if any(FLOORS[impact] != "allow" for impact in skill.impact)]
        if len(held) == len(about):
            names = ", ".join(sorted(skill.full for skill in held))
            yield f"rule {rule.id} (allow) never counts: the impact of {names} asks whatever a rule allows"
        elif all(rules.defaults.verdict(skill.effect) == "allow" for skill in about):
            yield f"rule {rule.id} (allow) changes nothing: the default allows these calls already"
    elif config.when is None and all(_stricter_default(rules, skill, config) for skill in about):
        yield f"rule {rule.id} ({config.verdict}) changes nothing: the default of these calls is as strict"


def _stricter_default(rules: Rules, skill: Skill, config: RuleConfig) -> bool:
    """Tell whether the default is as strict, and nothing can lift it."""
    if rules.defaults.provenance != "off" or any(rule.verdict == "allow" for rule in rules.about(skill)):
        return False
    return VERDICTS.index(rules.defaults.verdict(skill.effect)) >= VERDICTS.index(config.verdict)
