"""What would let a call run that policy stops: only what really would, and all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.policy.rules import Rules
from remit.skills import Skill
from remit.values import Verdict

Step = tuple[Verdict, str, str]
"""A contribution to a verdict: verdict, source, reason."""

THEN = "then: "
"""What a line begins with that helps only after the lines before it."""

READ_ONLY = "read-only mode"
"""The source of what the mode refuses."""

PATHS = "its paths"
"""The source of the refusal of a path that nobody can tell the file of: no approval could be bound to it."""


def remedy(skill: Skill, steps: Sequence[Step], rules: Rules) -> str:
    """Return the lines or commands that together let the call run, for people; they may be several lines.

    What refuses must go first: where something does, the rest is named as what comes after ("then: ...").
    What asks is settled by a person, once for all that ask; an allow rule is
    named only where nothing else asks, because it lifts the default and never a rule or an impact.

    Args:
        skill: what was called.
        steps: what stands against it, and what does not.
        rules: of the deployment.
    """
    against = [step for step in steps if step[0] != "allow"]
    refused = list(dict.fromkeys(_lifting(skill, against, rules)))
    asked = [line for line in dict.fromkeys(_agreeing(skill, against, rules)) if line not in refused]
    after = [f"{THEN}{line}" for line in asked] if refused else asked
    return "\n".join([*sorted(refused, key=_is_block), *sorted(after, key=_is_block)])


def _is_block(line: str) -> bool:
    """Tell whether a line brings a block to copy, which comes last: what follows would look like a part of it."""
    return "\n" in line


def _lifting(skill: Skill, against: Sequence[Step], rules: Rules) -> Iterator[str]:
    """Yield what lifts each refusal."""
    sources = {source for _, source, _ in against}
    if READ_ONLY in sources:
        yield "run it without --read-only"
    if PATHS in sources:
        yield "name the file by its own path: without /proc, without .. after a link"
    for verdict, source, _ in against:
        if verdict == "deny" and source not in (READ_ONLY, PATHS):
            yield _change(source) if source.startswith("rule ") else _allow(skill, rules)


def _agreeing(skill: Skill, against: Sequence[Step], rules: Rules) -> Iterator[str]:
    """Yield what settles each question."""
    asking = [step for step in against if step[0] in ("ask", "ask-apart")]
    if not asking:
        return
    if any(verdict == "ask-apart" for verdict, _, _ in asking):
        yield _apart(skill)
    elif all(source.startswith("default ") for _, source, _ in asking):
        yield f"run it on a terminal and answer the question; or {_allow(skill, rules)}"
    else:
        yield f"a person must agree to {skill.full} each time: run it on a terminal and answer the question"
    for _, source, _ in asking:
        if source.startswith("rule "):
            yield _change(source)


def _apart(skill: Skill) -> str:
    return (
        f"a person must agree to {skill.full} each time, over a channel that the agent"
        " cannot reach: `remit signoff` in another terminal, or an approver with `apart = True`"
    )


def _change(source: str) -> str:
    return f'to lift what it says, change or remove the rule with id = "{source.removeprefix("rule ")}" in remit.toml'


def _allow(skill: Skill, rules: Rules) -> str:
    """Return what replaces the default of the skill's effect."""
    if _only_declared(skill) and rules.defaults.verdict("read") == "allow":
        return (
            f'if you take its word that it only reads, add "{skill.name}" to accept_read under'
            f" [packs.{skill.pack}] in remit.toml, then run `remit apply`"
        )
    return (
        "add to remit.toml, then run `remit apply`:\n"
        f'[[rule]]\nid = "allow-{skill.pack}-{skill.name}"\nverdict = "allow"\n'
        f'match = {{ skill = "{skill.full}" }}'
    )


def _only_declared(skill: Skill) -> bool:
    """Tell whether the skill declares `read`, and nothing but the network or a secret speaks against it."""
    wide = {"exec", "fs.write"} & set(skill.permission)
    return skill.confined and skill.declared_effect == "read" and skill.effect == "external" and not wide
