"""Rules, loaded and checked against the skills that they speak about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.errors import PolicyError
from remit.policy.check import check_rule, stray_folders
from remit.policy.operators import Condition, Places, Truth, conjunction, negation, prepare
from remit.policy.shapes import Missing, argument_value
from remit.policy.shortlist import Shortlist
from remit.policy.targets import base_of
from remit.skills import Skill
from remit.values import AskedBy, Verdict
from remit_sandbox.canonical import digest

if TYPE_CHECKING:
    from remit.policy.config import DefaultsConfig, MatchConfig, RuleConfig, WhenConfig


@dataclass(frozen=True, kw_only=True)
class Scene:
    """In which surroundings a call is decided.

    Attributes:
        interactive: a person can be asked right now.
        agent: name of the agent; empty for none.
        above: names of the agents that led to it, the one that gave it its task first: what a rule that is not
            `allow` says about one of them holds for it, too, so that nobody does through others what it may not do.
        asked_by: who asked for the call.
        read_only: only skills with effect `read` may run.
        yes_to_writes: the person said yes to every write of this run beforehand.
    """

    interactive: bool = True
    agent: str = ""
    above: tuple[str, ...] = ()
    asked_by: AskedBy = "model"
    read_only: bool = False
    yes_to_writes: bool = False


@dataclass(frozen=True, kw_only=True)
class Matcher:
    """Which calls are meant, ready to be asked."""

    config: MatchConfig
    arguments: tuple[tuple[str, tuple[Condition, ...]], ...]

    def may_mean(self, skill: Skill) -> bool:
        """Tell whether any call of `skill` can be meant, whatever its arguments."""
        config = self.config
        named = config.skill is None or any(names_skill(pattern, skill) for pattern in config.skill)
        effect = config.effect is None or skill.effect in config.effect
        return named and effect and (config.impact is None or bool(skill.impact & set(config.impact)))

    def means(self, skill: Skill, arguments: Mapping[str, Any], scene: Scene) -> Truth:
        """Tell whether this call is meant."""
        asked = self.config.asked_by
        if not self.may_mean(skill) or (asked is not None and scene.asked_by not in asked):
            return False
        base = base_of(skill)
        return conjunction(
            _holds(conditions, argument_value(skill.schema, arguments, path), base)
            for path, conditions in self.arguments
        )


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, ready to be asked. See `remit.policy.config.RuleConfig`."""

    id: str
    verdict: Verdict
    reason: str
    match: Matcher
    unless: Matcher | None
    when: WhenConfig | None

    def applies(self, skill: Skill, arguments: Mapping[str, Any], scene: Scene) -> bool:
        """Tell whether the rule speaks about this call; doubt counts against the call."""
        if not self._fits(scene):
            return False
        meant = self.match.means(skill, arguments, scene)
        if self.unless is not None and meant is not False:
            meant = conjunction((meant, negation(self.unless.means(skill, arguments, scene))))
        return self.verdict != "allow" if meant is None else meant

    def speaks_of(self, agent: str, above: Sequence[str] = ()) -> bool:
        """Tell whether the rule is about calls of an agent, which those `above` led to; see `Scene`."""
        named = self.when.agent if self.when is not None else None
        return named is None or agent in named or (self.verdict != "allow" and not set(above).isdisjoint(named))

    def _fits(self, scene: Scene) -> bool:
        when = self.when
        if when is None:
            return True
        interactive = when.interactive is None or when.interactive is scene.interactive
        unattended = when.unattended is None or when.unattended is not scene.interactive
        return interactive and unattended and self.speaks_of(scene.agent, scene.above)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules and defaults of a deployment.

    Attributes:
        rules: sorted by id; their order has no meaning.
        defaults: verdicts where no rule says otherwise.
        warnings: what deserves a look (a rule about a skill that is not installed).
        digest: SHA-256 over rules and defaults; a sign-off is bound to it.
    """

    rules: tuple[Rule, ...]
    defaults: DefaultsConfig
    warnings: tuple[str, ...] = ()
    digest: str = ""
    _about: dict[tuple[str, str, frozenset[str]], Shortlist] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(
        cls,
        rules: Sequence[RuleConfig],
        defaults: DefaultsConfig | None = None,
        *,
        skills: Mapping[str, Skill],
        folder: Path | None = None,
        anchors: Mapping[str, str] | None = None,
        incomplete: bool = False,
        further: Callable[[], Collection[str]] = tuple,
    ) -> Rules:
        """Check rules against the installed skills and make them ready.

        Args:
            rules: as they stand in `remit.toml`.
            defaults: `[defaults]`; None for the built-in ones.
            skills: full name to skill, of everything that is enabled.
            folder: the folder of `remit.toml`, from which relative paths start.
            anchors: name to absolute path; `workspace` is taken from the skills when left out.
            incomplete: skills of the deployment are left out of `skills`; see `check_rule`.
            further: returns full names of skills that are installed and not enabled; see `check_rule`.

        Raises:
            PolicyError: two rules share an id, or a rule about an installed skill can never match.
        """
        from remit.policy.config import DefaultsConfig

        defaults = DefaultsConfig() if defaults is None else defaults
        places = Places(folder=str(folder) if folder else None, anchors=_anchors(skills, anchors))
        _refuse_doubles(rules)
        warnings = [
            warning for rule in rules for warning in check_rule(rule, skills, incomplete=incomplete, further=further)
        ]
        ready = sorted((_rule(rule, places) for rule in rules), key=lambda rule: rule.id)
        warnings += [warning for rule in rules for warning in stray_folders(rule, places)]
        return cls(
            rules=tuple(ready),
            defaults=defaults,
            warnings=tuple(warnings),
            digest=_digest(rules, defaults),
        )

    def about(self, skill: Skill) -> tuple[Rule, ...]:
        """Return the rules that can speak about `skill`, sorted by id."""
        return self._shortlist(skill).rules

    def matching(self, skill: Skill, arguments: Mapping[str, Any], scene: Scene) -> list[Rule]:
        """Return the rules that speak about this call, sorted by id."""
        likely = self._shortlist(skill).for_call(skill, arguments)
        return [rule for rule in likely if rule.applies(skill, arguments, scene)]

    def _shortlist(self, skill: Skill) -> Shortlist:
        key = (skill.full, skill.effect, skill.impact)
        if key not in self._about:
            self._about[key] = Shortlist([rule for rule in self.rules if rule.match.may_mean(skill)])
        return self._about[key]


def names_skill(pattern: str, skill: Skill) -> bool:
    """Tell whether `pattern` (a full name, `pack.*` or `*`) names `skill`."""
    return pattern in ("*", skill.full, f"{skill.pack}.*")


def _holds(conditions: tuple[Condition, ...], value: Any, base: str | None) -> Truth:
    if isinstance(value, Missing):
        return None if value.known else False
    return conjunction(condition.holds(value, base) for condition in conditions)


def _anchors(skills: Mapping[str, Skill], given: Mapping[str, str] | None) -> Mapping[str, str]:
    if given is not None:
        return given
    folders = (skill.cell.workspace for skill in skills.values() if skill.cell is not None)
    workspace = next(filter(None, folders), None)
    return {"workspace": workspace} if workspace else {}


def _refuse_doubles(rules: Sequence[RuleConfig]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise PolicyError(f"two rules have the id {rule.id!r}", remedy="give every [[rule]] an id of its own")
        seen.add(rule.id)


def _rule(config: RuleConfig, places: Places) -> Rule:
    try:
        match = _matcher(config.match, places)
        unless = None if config.unless is None else _matcher(config.unless, places)
    except ValueError as error:
        raise PolicyError(f"rule {config.id}: {error}", remedy="correct the rule in remit.toml") from error
    return Rule(
        id=config.id,
        verdict=config.verdict,
        reason=config.reason or f"rule {config.id} says {config.verdict}",
        match=match,
        unless=unless,
        when=config.when,
    )


def _matcher(config: MatchConfig, places: Places) -> Matcher:
    arguments = tuple((path, prepare(operators, places)) for path, operators in sorted(config.arguments.items()))
    return Matcher(config=config, arguments=arguments)


def _digest(rules: Sequence[RuleConfig], defaults: DefaultsConfig) -> str:
    written = sorted((rule.model_dump(mode="json") for rule in rules), key=lambda rule: str(rule["id"]))
    return digest({"policy": 1, "rules": written, "defaults": defaults.model_dump(mode="json")})
