"""The verdict algebra: the strictest of rules, impact floors and base."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.provenance.ledger import Ledger
from remit.provenance.level import SETTLES_LESS
from remit.skills import Skill
from remit.values import EFFECTS, IMPACTS, VERDICTS, Decision, Verdict

SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string"}},
        "cc": {"type": "array", "items": {"type": "string"}, "default": []},
        "size": {"type": "integer"},
        "force": {"type": "boolean", "default": True},
    },
}
MAIL = Skill(pack="mail", name="send", description="", schema=SCHEMA, effect="external")
SKILLS = {"mail.send": MAIL}


def verdict(
    arguments: dict[str, Any],
    *rules: dict[str, Any],
    skill: Skill = MAIL,
    scene: Scene | None = None,
    ledger: Ledger | None = None,
    **defaults: Any,
) -> Decision:
    configs = [RuleConfig.model_validate({"id": f"r{n}", **rule}) for n, rule in enumerate(rules)]
    loaded = Rules.load(configs, DefaultsConfig.model_validate(defaults), skills={skill.full: skill})
    return decide(skill, arguments, loaded, scene or Scene(), ledger)


def when(argument: str, **operators: Any) -> dict[str, Any]:
    return {"arguments": {argument: operators}}


@pytest.mark.parametrize(("effect", "expected"), [("read", "allow"), ("write", "ask"), ("external", "ask")])
def test_defaults_by_effect(effect: Any, expected: str) -> None:
    decision = verdict({}, skill=replace(MAIL, effect=effect, declared_effect=effect))
    assert (decision.verdict, decision.source) == (expected, f"default {effect}")
    assert bool(decision.remedy) is (expected != "allow")


def test_an_allow_rule_replaces_the_default_only() -> None:
    allow = {"verdict": "allow", "match": {"skill": "mail.send"}}
    assert verdict({}, allow).verdict == "allow"
    assert verdict({}, allow, {"verdict": "deny"}).verdict == "deny"
    paying = replace(MAIL, impact=frozenset({"money"}))
    decision = verdict({}, allow, skill=paying)
    assert (decision.verdict, decision.source) == ("ask-apart", "impact money")
    assert "cannot reach" in decision.remedy
    assert verdict({}, allow, skill=replace(MAIL, impact=frozenset({"destroy"}))).verdict == "ask"


def test_the_example_of_the_design() -> None:
    rule = {
        "id": "no-outside-mail",
        "verdict": "deny",
        "match": {"skill": "mail.send"},
        "unless": when("to", each={"domain": ["acme.example"]}),
        "reason": "Mail may only go to acme.example",
    }
    inside = verdict({"to": ["a@acme.example"]}, rule)
    assert (inside.verdict, inside.source) == ("ask", "default external")
    for to in (["a@evil.example"], ["a@acme.example", "b@evil.example"], ["A <a@acme.example>"]):
        outside = verdict({"to": to}, rule)
        assert (outside.verdict, outside.source) == ("deny", "rule no-outside-mail")
        assert outside.reason == "Mail may only go to acme.example"
        assert "no-outside-mail" in outside.remedy
    assert verdict({}, rule).verdict == "deny"


def test_a_default_of_the_schema_counts_as_given() -> None:
    deny = {"verdict": "deny", "match": when("force", eq=True)}
    assert verdict({}, deny).verdict == "deny"
    assert verdict({"force": False}, deny).verdict == "ask"
    allow = {"verdict": "allow", "match": when("cc", each={"domain": ["a.example"]})}
    assert verdict({}, allow).verdict == "allow"


def test_doubt_counts_against_the_call() -> None:
    deny = {"verdict": "deny", "match": when("size", gt=10)}
    allow = {"verdict": "allow", "match": when("size", lt=10)}
    assert verdict({}, deny).verdict == "deny" and verdict({"size": 1}, deny).verdict == "ask"
    assert verdict({}, allow).verdict == "ask" and verdict({"size": 1}, allow).verdict == "allow"
    unless = {"verdict": "allow", "unless": when("to", any={"domain": ["evil.example"]})}
    assert verdict({"to": ["A <a@evil.example>"]}, unless).verdict == "ask"
    assert verdict({"to": ["a@acme.example"]}, unless).verdict == "allow"


def test_scenes() -> None:
    alone = {"verdict": "deny", "when": {"unattended": True}}
    assert verdict({}, alone, scene=Scene(interactive=True)).verdict == "ask"
    assert verdict({}, alone, scene=Scene(interactive=False)).verdict == "deny"
    agent = {"verdict": "allow", "when": {"agent": "desk"}}
    assert verdict({}, agent, scene=Scene(agent="desk")).verdict == "allow"
    assert verdict({}, agent, scene=Scene(agent="other")).verdict == "ask"
    packs = {"verdict": "deny", "match": {"asked_by": "pack"}}
    assert verdict({}, packs, scene=Scene(asked_by="pack")).verdict == "deny"
    assert verdict({}, packs).verdict == "ask"


def test_matching_by_effect_and_impact() -> None:
    by_effect = {"verdict": "deny", "match": {"effect": ["write", "external"]}}
    assert verdict({}, by_effect).verdict == "deny"
    assert verdict({}, by_effect, skill=replace(MAIL, effect="read")).verdict == "allow"
    by_impact = {"verdict": "deny", "match": {"impact": "publish"}}
    assert verdict({}, by_impact).verdict == "ask"
    assert verdict({}, by_impact, skill=replace(MAIL, impact=frozenset({"publish"}))).verdict == "deny"


def test_yes_to_writes_answers_the_default_of_writes_only() -> None:
    write = replace(MAIL, effect="write")
    yes = Scene(yes_to_writes=True)
    assert verdict({}, skill=write, scene=yes).verdict == "ask"
    assert verdict({}, skill=write, scene=yes, allow_yes=True).verdict == "allow"
    assert verdict({}, scene=yes, allow_yes=True).verdict == "ask"
    destroying = replace(write, impact=frozenset({"destroy"}))
    assert verdict({}, skill=destroying, scene=yes, allow_yes=True).verdict == "ask"
    assert verdict({}, {"verdict": "ask"}, skill=write, scene=yes, allow_yes=True).verdict == "ask"
    assert verdict({}, skill=write, scene=yes, allow_yes=True, write="deny").verdict == "deny"


def test_read_only_mode_denies_whatever_a_rule_allows() -> None:
    allow = {"verdict": "allow"}
    decision = verdict({}, allow, scene=Scene(read_only=True))
    assert (decision.verdict, decision.source) == ("deny", "read-only mode")
    assert verdict({}, skill=replace(MAIL, effect="read"), scene=Scene(read_only=True)).verdict == "allow"


def test_every_step_is_told_strictest_first() -> None:
    rules = ({"verdict": "ask"}, {"verdict": "deny", "reason": "no"}, {"verdict": "allow"})
    decision = verdict({}, *rules, skill=replace(MAIL, impact=frozenset({"privacy"})))
    assert [(step[0], step[1]) for step in decision.steps] == [
        ("deny", "rule r1"),
        ("ask-apart", "impact privacy"),
        ("ask", "rule r0"),
        ("allow", "rule r2"),
    ]
    assert set(decision.rules) == {"r0", "r1", "r2"}
    assert '"r1"' in decision.remedy and '"r0"' in decision.remedy and "cannot reach" in decision.remedy


def test_of_equal_verdicts_the_one_that_no_rule_lifts_is_named() -> None:
    destroying = replace(MAIL, impact=frozenset({"destroy"}))
    assert verdict({}, skill=destroying).source == "impact destroy"
    assert verdict({}, {"verdict": "ask", "id": "a-rule"}, skill=destroying).source == "impact destroy"
    assert verdict({}, {"verdict": "ask", "id": "a-rule"}).source == "rule a-rule"


def test_the_remedy_names_only_what_would_help() -> None:
    allow = 'verdict = "allow"'
    assert allow in verdict({}).remedy and "on a terminal" in verdict({}).remedy
    destroying = verdict({}, skill=replace(MAIL, impact=frozenset({"destroy"})))
    assert allow not in destroying.remedy and "on a terminal" in destroying.remedy
    ruled = verdict({}, {"verdict": "ask", "id": "a-rule"})
    assert allow not in ruled.remedy and 'id = "a-rule"' in ruled.remedy
    refused = verdict({}, external="deny")
    assert allow in refused.remedy and "on a terminal" not in refused.remedy
    both = verdict({}, external="deny", skill=replace(MAIL, impact=frozenset({"destroy"})))
    assert allow in both.remedy and "a person must agree" in both.remedy


def test_a_declared_read_is_remedied_by_accepting_it() -> None:
    declared = replace(MAIL, declared_effect="read", permission={"net": ("mail.example:443",)})
    assert 'add "send" to accept_read under [packs.mail]' in verdict({}, skill=declared).remedy
    assert "accept_read" not in verdict({}, skill=declared, read="ask").remedy
    wide = replace(declared, permission={"net": ("mail.example:443",), "exec": ("git",)})
    assert "accept_read" not in verdict({}, skill=wide).remedy


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "to": st.lists(st.sampled_from(["a@acme.example", "b@evil.example", "A <a@acme.example>", ""]), max_size=3),
        "size": st.integers(-3, 15),
        "force": st.booleans(),
    },
)
CONDITIONS = st.sampled_from(
    [
        {},
        when("to", each={"domain": ["acme.example"]}),
        when("to", any={"domain": ["evil.example"]}),
        when("size", gt=5),
        when("size", lt=5),
        when("force", eq=True),
        {"skill": "mail.*"},
        {"skill": "other.skill"},
        {"effect": ["write"]},
        {"impact": ["money"]},
        {"asked_by": ["pack"]},
    ]
)


def _heard(said: list[str], labels: tuple[str, ...]) -> Ledger:
    ledger = Ledger()
    ledger.hear(" ".join(said))
    ledger.read('[{"name": "go", "to": "a@evil.example"}]', skill="mail.read", call="c", labels=frozenset(labels))
    return ledger


RULES = st.lists(
    st.fixed_dictionaries(
        {"verdict": st.sampled_from(VERDICTS), "match": CONDITIONS},
        optional={
            "unless": CONDITIONS,
            "when": st.sampled_from([{"interactive": True}, {"unattended": True}, {"agent": ["a"]}]),
        },
    ),
    max_size=4,
)
SKILL = st.builds(
    lambda effect, impact, targets, asks: replace(
        MAIL, effect=effect, impact=frozenset(impact), targets=targets, asks=asks
    ),
    st.sampled_from(EFFECTS),
    st.sets(st.sampled_from(IMPACTS), max_size=2),
    st.sampled_from([{}, {"to": "address"}, {"size": "id"}]),
    st.sampled_from(["", "", "it must be asked"]),
)
LEDGER = st.none() | st.builds(
    _heard,
    st.lists(st.sampled_from(["ann@acme.example", "a@evil.example", "5", "go"])),
    st.sampled_from([(), ("untrusted",), ("private", "untrusted")]),
)
SCENES = st.builds(
    Scene,
    interactive=st.booleans(),
    agent=st.sampled_from(["", "a"]),
    asked_by=st.sampled_from(["model", "pack"]),
    read_only=st.booleans(),
    yes_to_writes=st.booleans(),
)
DEFAULTS = st.fixed_dictionaries(
    {},
    optional={
        "read": st.sampled_from(VERDICTS),
        "write": st.sampled_from(VERDICTS),
        "external": st.sampled_from(VERDICTS),
        "allow_yes": st.booleans(),
        "provenance": st.sampled_from(SETTLES_LESS),
        "check_egress": st.booleans(),
    },
)


def _rank(value: Verdict) -> int:
    return VERDICTS.index(value)


@settings(max_examples=200, deadline=None)
@given(ARGUMENTS, RULES, RULES, SKILL, SCENES, DEFAULTS, LEDGER)
def test_a_rule_that_is_not_allow_never_makes_a_call_laxer(
    arguments: dict[str, Any],
    rules: list[dict[str, Any]],
    more: list[dict[str, Any]],
    skill: Skill,
    scene: Scene,
    defaults: dict[str, Any],
    ledger: Ledger | None,
) -> None:
    stricter = [rule for rule in more if rule["verdict"] != "allow"]
    before = verdict(arguments, *rules, skill=skill, scene=scene, ledger=ledger, **defaults)
    after = verdict(arguments, *rules, *stricter, skill=skill, scene=scene, ledger=ledger, **defaults)
    assert _rank(after.verdict) >= _rank(before.verdict)


@settings(max_examples=100, deadline=None)
@given(ARGUMENTS, RULES, SKILL, SCENES, DEFAULTS, LEDGER)
def test_the_order_of_rules_never_matters(
    arguments: dict[str, Any],
    rules: list[dict[str, Any]],
    skill: Skill,
    scene: Scene,
    defaults: dict[str, Any],
    ledger: Ledger | None,
) -> None:
    named = [{"id": f"n{number}", **rule} for number, rule in enumerate(rules)]
    decisions = [
        verdict(arguments, *order, skill=skill, scene=scene, ledger=ledger, **defaults) for order in permutations(named)
    ]
    assert all(decision == decisions[0] for decision in decisions)


@settings(max_examples=200, deadline=None)
@given(ARGUMENTS, RULES, SKILL, SCENES, DEFAULTS, LEDGER)
def test_floors_and_reasons_always_hold(
    arguments: dict[str, Any],
    rules: list[dict[str, Any]],
    skill: Skill,
    scene: Scene,
    defaults: dict[str, Any],
    ledger: Ledger | None,
) -> None:
    decision = verdict(arguments, *rules, skill=skill, scene=scene, ledger=ledger, **defaults)
    floor = "ask-apart" if skill.impact - {"destroy"} else "ask" if skill.impact or skill.asks else "allow"
    assert _rank(decision.verdict) >= _rank(floor)  # type: ignore[arg-type]
    assert decision.reason and decision.source
    assert decision.verdict == decision.steps[0][0]
    assert bool(decision.remedy) is (decision.verdict != "allow")


@settings(max_examples=100, deadline=None)
@given(ARGUMENTS, RULES, SKILL, SCENES, DEFAULTS, LEDGER)
def test_provenance_settles_the_default_only(
    arguments: dict[str, Any],
    rules: list[dict[str, Any]],
    skill: Skill,
    scene: Scene,
    defaults: dict[str, Any],
    ledger: Ledger | None,
) -> None:
    known = verdict(arguments, *rules, skill=skill, scene=scene, ledger=ledger, **defaults)
    unknown = verdict(arguments, *rules, skill=skill, scene=scene, **defaults)
    against = [step[0] for step in unknown.steps if not step[1].startswith("default ") and step[0] != "allow"]
    assert _rank(known.verdict) >= max(map(_rank, against), default=0)
    assert known.verdict == unknown.verdict or unknown.source.startswith("default ") or skill.effect == "read"


def test_a_block_to_copy_comes_last_in_a_remedy() -> None:
    writes = replace(MAIL, effect="write", impact=frozenset({"destroy"}))
    found = verdict({"to": []}, {"verdict": "deny", "match": {"skill": "mail.send"}}, skill=writes, write="deny")
    lines = found.remedy.splitlines()
    assert lines.index("add to remit.toml, then run `remit apply`:") == 1
    assert lines[-1].startswith("then: a person must agree")


def test_what_lifts_a_refusal_comes_first_and_the_rest_only_after_it() -> None:
    refusing = {"id": "no", "verdict": "deny", "match": {"skill": "mail.send"}}
    denied = verdict({"to": []}, refusing).remedy.splitlines()
    assert 'id = "no"' in denied[0] and "then: " not in denied[0]
    assert denied[1].startswith("then: run it on a terminal and answer")
    assert not verdict({"to": []}).remedy.startswith("then: ")
    assert verdict({"to": []}, refusing, external="allow").remedy.splitlines() == denied[:1]
