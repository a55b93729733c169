"""Answers, arguments and trajectories: each check with an answer that passes it and one that does not."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.evaluation.answers import misses
from remit.evaluation.arguments import Operators, held
from remit.evaluation.attempt import Ran, TurnOutcome, judge
from remit.evaluation.case import AnswerCheck, Case, ReferenceCall
from remit.evaluation.texts import finds, numbers
from remit.evaluation.trajectory import MadeCall, compare
from remit.skills import Skill


def check(**what: Any) -> AnswerCheck:
    return AnswerCheck.model_validate(what)


@pytest.mark.parametrize(
    ("what", "right", "wrong"),
    [
        ({"contains": "oslo"}, "In OSLO it rains.", "In Bergen."),
        ({"contains": ["a", "b"]}, "b and a", "a only"),
        ({"contains": "two  words"}, "two\nwords", "twowords"),
        ({"contains": "caf\u00e9"}, "CAFE\u0301", "cafe"),
        ({"contains": "stra\u00dfe"}, "STRASSE", "street"),
        ({"contains": "Oslo", "ignore_case": False}, "Oslo", "oslo"),
        ({"contains_any": ["hello", "hi"]}, "Hi!", "Bye!"),
        ({"not_contains": "sorry"}, "Done.", "Sorry, no."),
        ({"equals": "yes"}, " Yes\n", "yes, it is"),
        ({"one_of": ["yes", "no"]}, "No", "maybe"),
        ({"pattern": r"\b\d{4}-\d\d\b"}, "in 2026-11", "in November"),
        ({"pattern": "oslo"}, "OSLO", "Bergen"),
        ({"number": 36}, "It is 36.", "It is 360."),
        ({"number": 36}, "\u662f36\u5ea6", "\u662f\u4e09\u5341\u516d\u5ea6"),
        ({"number": {"value": 3.14, "within": 0.01}}, "about 3.1416", "about 3.2"),
        ({"number": {"value": 200, "within": 0.05, "relative": True}}, "209", "211"),
        ({"number": 1234.5}, "1,234.5 euros", "1234 euros"),
        ({"number": -4}, "it is \u22124 degrees", "it is 4 degrees"),
        ({"number": 0.3}, "0.30000000000000004", "0.31"),
        ({"schema": {"type": "object", "required": ["a"]}}, '{"a": 1}', '{"b": 1}'),
        ({"schema": {"type": "array", "items": {"type": "integer"}}}, "So:\n```json\n[1, 2]\n```", "[1, 2"),
        ({"contains": "a", "not_contains": "b", "number": 1}, "a 1", "a b 1"),
    ],
)
def test_each_check_of_an_answer_holds_and_does_not_hold(what: dict[str, Any], right: str, wrong: str) -> None:
    assert list(misses(check(**what), right)) == []
    (why,) = misses(check(**what), wrong)
    assert why.startswith(("the answer", "the pattern", "the number", "the JSON"))


@pytest.mark.parametrize(
    "what",
    [{"contains": ""}, {"contains": ["a", " "]}, {"contains_any": ["Friday", "\v"]}, {"not_contains": "\u00a0"},
     {"pattern": ""}, {"contains": []}, {"one_of": []}],
)  # fmt: skip
def test_a_check_that_any_answer_would_pass_is_refused(what: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="says nothing"):
        check(**what)


@pytest.mark.parametrize("wanted", [{"contains": " "}, {"contains": ["a", ""]}, {"contains": []}, {"pattern": ""}])
def test_an_operator_that_any_argument_would_pass_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="says nothing"):
        ReferenceCall.model_validate({"skill": "t.f", "arguments": {"s": wanted}})


def test_every_check_that_does_not_hold_is_named() -> None:
    found = list(misses(check(contains=["a", "b"], equals="c", number=1, schema={"type": "object"}), "nothing"))
    assert found[0] == 'the answer lacks "a"' and len(found) == 5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10-20", [10, 20]), ("from 1,5 to 2", [1, 5, 2]), ("1e3 .5 -7 +8", [1000, 0.5, -7, 8]), ("H2O v2 x_3", []),
        ("\uff13\uff16", [36]), ("12,345,678.9", [12345678.9]), ("25%\uff0c\u00a325", [25, 25]), ("1.2.3", [1.2]),
    ],
)  # fmt: skip
def test_numbers_in_a_text(text: str, found: list[float]) -> None:
    assert list(numbers(text)) == found


def test_patterns_take_linear_time() -> None:
    assert finds("(a+)+$", "a" * 100_000 + "b") is False
    assert finds("(a+)+b", "a" * 100_000 + "b") is True


SKILL = Skill(
    pack="t",
    name="f",
    description="",
    schema={
        "type": "object",
        "properties": {
            "n": {"type": "number"},
            "s": {"type": "string"},
            "d": {"type": "integer", "default": 5},
            "o": {"type": "object", "properties": {"in": {"type": "string"}}},
        },
    },
)


@pytest.mark.parametrize(
    ("wanted", "right", "wrong"),
    [
        (7, 7.0, 8),
        (True, True, 1),
        ("a", "a", "A"),
        (["a", 1], ["a", 1], [1, "a"]),
        ({"eq": {"k": 1}}, {"k": 1}, {"k": 2}),
        ({"in": [1, 2]}, 2, 3),
        ({"gt": 1, "lt": 3}, 2, 3),
        ({"near": 20, "within": 0.5}, "20.4", 21),
        ({"contains": ["Oslo", "Bergen"]}, "bergen, OSLO", "oslo"),
        ({"contains": "b"}, ["a", "b"], ["a"]),
        ({"equals_text": "The  Plan"}, "the plan", "a plan"),
        ({"pattern": "^[0-9]+ \\* 7$"}, "6 * 7", "6*7"),
        ({"domain": "acme.example"}, "a@acme.example", "a@other.example"),
        ({"host": "*.acme.example"}, "https://x.acme.example/y", "https://acme.example.evil/"),
        ({"each": {"lt": 3}}, [1, 2], [1, 3]),
        ({"any": {"eq": "x"}}, ["x", "y"], ["y"]),
        ({"len": {"gt": 1}}, "ab", "a"),
    ],
)
def test_each_operator_on_an_argument_holds_and_does_not_hold(wanted: Any, right: Any, wrong: Any) -> None:
    reference = ReferenceCall.model_validate({"skill": "t.f", "arguments": {"s": wanted}})
    assert held(reference.arguments, SKILL, {"s": right}) == 1
    assert held(reference.arguments, SKILL, {"s": wrong}) == 0


def test_defaults_and_parts_of_objects_count_and_what_is_missing_does_not() -> None:
    wanted = ReferenceCall.model_validate({"skill": "t.f", "arguments": {"d": 5, "o.in": "x", "n": 1, "s": None}})
    assert held(wanted.arguments, SKILL, {"o": {"in": "x"}}) == 2
    assert held(wanted.arguments, None, {"d": 5, "n": 1}) == 2
    assert Operators.model_validate({"near": 1}).holds(True, None) is False


def call(name: str, **arguments: Any) -> MadeCall:
    return MadeCall(skill=f"t.{name}", arguments=arguments)


def expected(*calls: str | dict[str, Any]) -> tuple[ReferenceCall, ...]:
    return Case.model_validate({"id": "a", "question": "q", "trajectory": calls}).trajectory or ()


@pytest.mark.parametrize(
    ("reference", "made", "exact", "in_order", "any_order"),
    [
        ("", "", True, True, True),
        ("", "a", False, True, True),
        ("a", "", False, False, False),
        ("ab", "ab", True, True, True),
        ("ab", "axb", False, True, True),
        ("ab", "ba", False, False, True),
        ("ab", "bab", False, True, True),
        ("aa", "a", False, False, False),
        ("aa", "aba", False, True, True),
        ("ab", "xy", False, False, False),
    ],
)
def test_matches_of_skills(reference: str, made: str, exact: bool, in_order: bool, any_order: bool) -> None:
    found = compare(expected(*(f"t.{one}" for one in reference)), [call(one) for one in made], {})
    assert (found.exact, found.in_order, found.any_order) == (exact, in_order, any_order)


def test_expected_calls_share_out_the_calls_that_were_made() -> None:
    """`t.*` takes the first call that fits, and must give it back when `t.a` fits no other."""
    found = compare(expected("t.*", "t.a"), [call("a"), call("b")], {})
    assert found.any_order and not found.in_order and found.chosen == 2


def test_figures_of_a_trajectory_by_hand() -> None:
    reference = expected(
        {"skill": "t.a", "arguments": {"x": 1, "y": 2}},
        {"skill": "t.a", "arguments": {"x": 5}},
        {"skill": "t.b", "arguments": {"z": 1}},
        {"skill": "t.c", "arguments": {"z": 1, "w": 1}},
    )
    made = [call("a", x=5), call("a", x=1, y=3), call("b", z=2), call("d"), call("b", z=1)]
    found = compare(reference, made, {})
    # Right choices: both a, one b. Arguments: a(1,2) with the second call 1 of 2, a(5) with the first 1 of 1, b with
    # the last 1 of 1; c was not called, so that its two conditions are a question of choice, not of arguments.
    assert (found.chosen, found.made, found.expected) == (3, 5, 4)
    assert (found.held, found.conditions) == (3, 4)


NAMES = st.lists(st.sampled_from("abc"), max_size=5)


@settings(max_examples=80, deadline=None)
@given(NAMES, NAMES)
def test_matches_imply_one_another_and_agree_with_brute_force(reference: list[str], made: list[str]) -> None:
    found = compare(expected(*(f"t.{one}" for one in reference)), [call(one) for one in made], {})
    orders = {tuple(order) for order in permutations(made, len(reference))} if len(reference) <= len(made) else set()
    assert found.any_order == (tuple(reference) in orders)
    assert not found.exact or found.in_order
    assert not found.in_order or found.any_order
    assert found.chosen == sum(min(reference.count(one), made.count(one)) for one in "abc")


def judged(case: dict[str, Any], *turns: TurnOutcome, cost: float | None = None) -> tuple[str, ...]:
    whole = Case.model_validate({"id": "a", "question": "q", **case})
    ran = Ran(number=1, session="s", turns=turns, tokens=None, cost=cost, seconds=0.0)
    return judge(whole, ran).failures


def turn(answer: str = "fine", status: str = "answered", *calls: MadeCall, steps: int = 1) -> TurnOutcome:
    return TurnOutcome(answer=answer, status=status, calls=calls, steps=steps)


DENIED = MadeCall(skill="t.a", arguments={}, status="denied")


@pytest.mark.parametrize(
    ("case", "right", "wrong", "says"),
    [
        ({}, turn(), turn("", "stopped"), "the run is stopped, not answered"),
        ({"status": "parked"}, turn("", "parked"), turn(), "the run is answered, not parked"),
        ({"status": "denied"}, turn("", "stopped", DENIED), turn(), "no call was denied; the run is answered"),
        ({"trajectory": ["t.a"]}, turn("x", "answered", call("a"), call("b")), turn(), "not the expected calls in"),
        ({"trajectory": [], "match": "exact"}, turn(), turn("x", "answered", call("a")), "not exactly the expected"),
        ({"trajectory": ["t.a"], "match": "none"}, turn(), turn("", "failed"), "the run is failed"),
        ({"required": "t.*"}, turn("x", "answered", call("a")), turn(), "t.* was not called"),
        ({"forbidden": "t.a"}, turn("x", "answered", call("b")), turn("x", "answered", call("a")), "forbidden call of"),
        (
            {"forbidden": [{"skill": "t.a", "arguments": {"x": {"gt": 5}}}]},
            turn("x", "answered", call("a", x=5)),
            turn("x", "answered", call("a", x=6)),
            "the forbidden call of t.a was made",
        ),
        ({"max_steps": 2}, turn(steps=2), turn(steps=3), "3 model turns, more than 2"),
    ],
)
def test_each_demand_of_a_case_holds_and_does_not_hold(
    case: dict[str, Any], right: TurnOutcome, wrong: TurnOutcome, says: str
) -> None:
    assert judged(case, right) == ()
    assert says in judged(case, wrong)[0]


def test_costs_and_later_turns_are_demands_too() -> None:
    assert judged({"max_cost": 0.5}, turn(), cost=0.5) == ()
    assert judged({"max_cost": 0.5}, turn(), cost=0.6) == ("it cost 0.6, more than 0.5",)
    assert "price of the model is not known" in judged({"max_cost": 0.5}, turn())[0]
    case = {"then": [{"question": "more?", "answer": {"contains": "b"}}]}
    assert judged(case, turn(), turn("b")) == ()
    assert judged(case, turn(), turn("a")) == ('turn 2: the answer lacks "b"',)
    assert judged(case, turn("", "failed"))[-1] == "turn 2: was not reached"


def test_reading_the_rest_of_a_result_is_no_choice_of_a_skill_unless_it_is_named() -> None:
    reading = MadeCall(skill="remit.read_result", arguments={})
    made = turn("x", "answered", call("a"), reading)
    assert judged({"trajectory": ["t.a"], "match": "exact"}, made) == ()
    assert judged({"trajectory": ["t.a", "remit.read_result"], "match": "exact"}, made) == ()
    assert judged({"trajectory": [], "forbidden": ["remit.read_result"]}, made) != ()
