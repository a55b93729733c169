"""Rules that can never match must not load: they would only look like protection."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from remit.errors import PolicyError
from remit.policy.places import stray
from remit.policy.shapes import argument_names, find_schema, misfit
from remit.skills import RESERVED_PACK, Skill

if TYPE_CHECKING:
    from remit.policy.config import OperatorConfig, RuleConfig
    from remit.policy.operators import Places


def check_rule(
    rule: RuleConfig,
    skills: Mapping[str, Skill],
    *,
    incomplete: bool = False,
    further: Callable[[], Collection[str]] = tuple,
) -> Iterator[str]:
    """Yield warnings about a rule.

    Args:
        rule: as it stands in `remit.toml`.
        skills: full name to skill, of everything that can be called.
        incomplete: skills of the deployment are left out; a rule about many skills may be about those,
            so that an argument which none of the others has is a warning.
        further: returns full names of skills that are installed and not enabled, for hints.

    Raises:
        PolicyError: a skill that is installed has no such argument, or one of another type.
    """
    named = rule.match.skill
    _check_scene(rule)
    for match, part in ((rule.match, "match"), (rule.unless, "unless")):
        if match is None:
            continue
        yield from _unknown_skills(rule.id, match.skill or (), skills, further)
        meant = _meant(match.skill or named, skills)
        wide = any(pattern.endswith("*") for pattern in match.skill or named or ("*",))
        for path, operators in match.arguments.items():
            if incomplete and wide and not _anybody_has(path, meant):
                yield f"rule {rule.id}: {part}.arguments.{path}: no skill that is here has this argument"
                continue
            _check_argument(rule.id, f"{part}.arguments.{path}", path, operators, meant)


def stray_folders(rule: RuleConfig, places: Places) -> Iterator[str]:
    """Yield warnings about folders in a rule that lie beside the workspace, where nobody will have meant them."""
    for match in (rule.match, rule.unless):
        for path, operators in (match.arguments if match is not None else {}).items():
            for pattern in _folders(operators):
                if warning := stray(pattern, folder=places.folder, anchors=places.anchors):
                    yield f"rule {rule.id}: arguments.{path}: path_under {warning}"


def _folders(operators: OperatorConfig) -> Iterator[str]:
    for name, operand in operators.given:
        if name == "path_under":
            yield from operand
        elif name in ("each", "any"):
            yield from _folders(operand)


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


def _unknown_skills(
    rule: str, patterns: tuple[str, ...], skills: Mapping[str, Skill], further: Callable[[], Collection[str]]
) -> Iterator[str]:
    packs = {f"{skill.pack}.*" for skill in skills.values()}
    for pattern in patterns:
        # Skills of the host are always there and join later.
        host = pattern.startswith(f"{RESERVED_PACK}.")
        if not host and pattern != "*" and pattern not in skills and pattern not in packs:
            others = [name for name in further() if name not in skills]
            there = [*others, *{f"{name.partition('.')[0]}.*" for name in others}]
            close = "" if pattern in there else nearest(pattern, [*skills, *packs, *there])
            off = ", which is installed and not enabled" if close in there else ""
            hint = f"; did you mean {close}{off}?" if close else ""
            yield f"rule {rule} is about {pattern}, which is not enabled here{hint}"


def _anybody_has(path: str, skills: tuple[Skill, ...]) -> bool:
    return any(find_schema(skill.schema, path) is not None for skill in skills)


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
