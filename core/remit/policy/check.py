"""Rules that can never match must not load: they would only look like protection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from remit.errors import PolicyError
from remit.policy.shapes import argument_names, find_schema, misfit
from remit.skills import RESERVED_PACK, Skill

if TYPE_CHECKING:
    from remit.policy.config import OperatorConfig, RuleConfig


def check_rule(rule: RuleConfig, skills: Mapping[str, Skill]) -> Iterator[str]:
    """Yield warnings about a rule.

    Raises:
        PolicyError: a skill that is installed has no such argument, or one of another type.
    """
    named = rule.match.skill
    _check_scene(rule)
    for match, part in ((rule.match, "match"), (rule.unless, "unless")):
        if match is None:
            continue
        yield from _unknown_skills(rule.id, match.skill or (), skills)
        meant = _meant(match.skill or named, skills)
        for path, operators in match.arguments.items():
            _check_argument(rule.id, f"{part}.arguments.{path}", path, operators, meant)


def _check_scene(rule: RuleConfig) -> None:
    when = rule.when
    if when is None or when.interactive is None:
        return
    if when.interactive is when.unattended:
        raise PolicyError(
            f"rule {rule.id}: no scene is interactive and unattended alike",
            remedy="keep one of when.interactive and when.unattended",
        )


def _meant(patterns: tuple[str, ...] | None, skills: Mapping[str, Skill]) -> tuple[Skill, ...]:
    if patterns is None or "*" in patterns:
        return tuple(skills.values())
    named = [skills[pattern] for pattern in patterns if pattern in skills]
    packs = {pattern.removesuffix(".*") for pattern in patterns if pattern.endswith(".*")}
    return (*named, *(skill for skill in skills.values() if skill.pack in packs)) if packs else tuple(named)


def _unknown_skills(rule: str, patterns: tuple[str, ...], skills: Mapping[str, Skill]) -> Iterator[str]:
    packs = {f"{skill.pack}.*" for skill in skills.values()}
    for pattern in patterns:
        # Skills of the host are always there and join later.
        host = pattern.startswith(f"{RESERVED_PACK}.")
        if not host and pattern != "*" and pattern not in skills and pattern not in packs:
            close = nearest(pattern, [*skills, *packs])
            hint = f"; did you mean {close}?" if close else ""
            yield f"rule {rule} is about {pattern}, which is not enabled here{hint}"


def _check_argument(rule: str, place: str, path: str, operators: OperatorConfig, meant: tuple[Skill, ...]) -> None:
    having = [(skill, part) for skill in meant if (part := find_schema(skill.schema, path)) is not None]
    if meant and not having:
        names = sorted({name for skill in meant for name in argument_names(skill.schema)})
        close = nearest(path, names)
        hint = f"; did you mean {close}?" if close else ""
        skills = ", ".join(skill.full for skill in meant[:3])
        raise PolicyError(
            f"rule {rule}: {place}: {skills} has no argument {path}{hint}",
            remedy="write one of: " + ", ".join(names) if names else "remove the condition",
        )
    for skill, part in having:
        why = misfit(skill.schema, part, operators)
        if why:
            raise PolicyError(
                f"rule {rule}: {place} can never hold for {skill.full}: {why}",
                remedy="correct the rule in remit.toml",
            )


def nearest(name: str, known: list[str]) -> str:
    """Return the known name closest to `name`, or an empty text."""
    import difflib

    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else ""
