"""Looking rules up instead of trying each never changes which of them speak."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.config import RuleConfig
from remit.policy.rules import Rules, Scene
from remit.skills import Skill

TEXTS = ["a", "b", "é", "e\u0301", ""]
SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "size": {"type": "integer"},
        "kind": {"type": "string", "default": "a"},
    },
}
SKILL = Skill(pack="m", name="send", description="", schema=SCHEMA, effect="external")
VALUES = st.one_of(st.sampled_from(TEXTS), st.lists(st.sampled_from(TEXTS), max_size=2), st.none())
CONDITIONS = st.one_of(
    st.builds(lambda text: {"eq": text}, st.sampled_from(TEXTS)),
    st.builds(lambda texts: {"in": texts}, st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)),
    st.just({"any": {"eq": "a"}}),
)
RULES = st.lists(
    st.builds(
        lambda conditions, verdict, size: {
            "verdict": verdict,
            "match": {"arguments": conditions | ({"size": {"eq": 1}} if size else {})},
        },
        st.dictionaries(st.sampled_from(["to", "kind"]), CONDITIONS, max_size=2),
        st.sampled_from(["allow", "ask", "deny"]),
        st.booleans(),
    ),
    max_size=5,
)


@settings(max_examples=80)
@given(RULES, st.dictionaries(st.sampled_from(["to", "kind"]), VALUES, max_size=2), st.booleans())
def test_the_same_rules_speak(rules: list[dict[str, Any]], arguments: dict[str, Any], sized: bool) -> None:
    configs = []
    for number, rule in enumerate(rules):
        if "kind" in rule["match"]["arguments"] and "any" in rule["match"]["arguments"]["kind"]:
            del rule["match"]["arguments"]["kind"]
        configs.append(RuleConfig.model_validate({"id": f"r{number}", **rule}))
    loaded = Rules.load(configs, skills={SKILL.full: SKILL})
    given_ = arguments | ({"size": 1} if sized else {})
    one_by_one = [rule for rule in loaded.about(SKILL) if rule.applies(SKILL, given_, Scene())]
    assert loaded.matching(SKILL, given_, Scene()) == one_by_one


def test_a_rule_about_another_text_is_not_tried() -> None:
    configs = [
        RuleConfig.model_validate({"id": f"r{n}", "verdict": "deny", "match": {"arguments": {"to": {"eq": f"t{n}"}}}})
        for n in range(50)
    ]
    loaded = Rules.load(configs, skills={SKILL.full: SKILL})
    likely = loaded._shortlist(SKILL).for_call(SKILL, {"to": "t7"})
    assert [rule.id for rule in likely] == ["r7"]
    assert len(loaded._shortlist(SKILL).for_call(SKILL, {"to": ["t7"]})) == 50
