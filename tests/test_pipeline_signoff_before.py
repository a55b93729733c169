"""Answers that come from elsewhere, or were given before: each runs what it was given for, and that once."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.changes import compare
from remit.deployment.config import Config
from remit.deployment.layers import stricter_defaults
from remit.evidence.verify import verify
from remit.packs.lock import Lock
from remit.pipeline.question import for_session
from remit.pipeline.start import start as start_call
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.state.answering import StoredSignoff
from remit.state.standing import Pattern, StandingSignoff
from remit.state.store import State
from remit.values import Call, Impact, Result
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person, call, host_skill

written: list[str] = []


def write(text: str, note: str = "") -> str:
    """Write."""
    written.append(text + note)
    return "written"


WRITE = host_skill(write, effect="write", targets={"text": "name"}, hash="h1", version="1.0")
PAY = replace(WRITE, name="pay", impact=frozenset({"money"}))


@pytest.fixture(autouse=True)
def nothing_written() -> None:
    written.clear()


def asked(bench: Bench) -> StoredSignoff:
    (one,) = bench.state.signoffs()
    return one


def answer(bench: Bench, given: Answer = "once", by: str = "ann", reason: str = "") -> tuple[str, str]:
    one = asked(bench)
    decision = SignoffDecision(answer=given, digest=one.digest, by=by, channel="command", reason=reason)
    return bench.state.give_answer(one, decision)


def holds(bench: Bench) -> bool:
    bench.state.close()
    return verify(bench.state.database.path).holds


def test_an_approval_that_comes_later_runs_the_call_once(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        assert bench.call("local.write", text="a").status == "parked"
        assert bench.call("local.write", text="a").status == "parked" and len(bench.state.signoffs()) == 1
        assert not written and answer(bench) == ("approved", "")
        assert bench.call("local.write", text="a").status == "ok"
        assert bench.call("local.write", text="a").status == "parked"
        assert written == ["a"] and holds(bench)


def test_a_denial_that_comes_later_is_told_with_its_reason(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        assert answer(bench, "deny", reason="wrong text")[0] == "denied"
        refused = bench.call("local.write", text="a")
        assert refused.status == "denied" and "Denied by a person" in refused.text and "wrong text" in refused.text
        bodies = bench.state.database.read(lambda c: c.execute("SELECT body FROM records").fetchall())
        assert all(b"wrong text" not in body for (body,) in bodies)
    assert not written


def test_a_stop_that_comes_later_ends_the_run_once(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        assert answer(bench, "stop", reason="enough")[0] == "denied"
        ended, after = bench.call("local.write", text="a"), bench.call("local.write", text="a")
        assert (ended.status, ended.stop, after.status, after.stop) == ("cancelled", True, "denied", False)
        assert "enough" in ended.text and not written


SWAPS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "arguments": ({}, {}, {"text": "b"}),
    "further argument": ({}, {}, {"note": "!"}),
    "skill or schema hash": ({"hash": "h2"}, {}, {}),
    "version": ({"version": "2.0"}, {}, {}),
    "skill": ({"name": "other"}, {}, {}),
    "pack": ({"pack": "other"}, {}, {}),
    "policy": ({}, {"defaults": {"external": "deny"}}, {}),
    "principal": ({}, {"principal": "eve"}, {}),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_an_approval_never_runs_anything_else(tmp_path: Path, swap: str) -> None:
    skill_change, options, arguments = SWAPS[swap]
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        answer(bench)
    changed = replace(WRITE, **skill_change)
    with Bench(tmp_path, changed, **options) as bench:
        assert bench.call(changed.full, **{"text": "a", **arguments}).status == "parked" and not written
    with Bench(tmp_path, WRITE) as bench:
        assert bench.call("local.write", "another session", text="a").status == "parked" and not written
        assert bench.call("local.write", text="a").status == "ok"


def test_an_approval_for_the_session_covers_the_same_targets(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        answer(bench, "session")
        calls: list[dict[str, str]] = [{}, {"note": "1"}, {"note": "2"}, {"text": "b"}]
        statuses = [bench.call("local.write", **{"text": "a", **one}).status for one in calls]
        assert statuses == ["ok", "ok", "ok", "parked"] and holds(bench)


def give_standing(bench: Bench, **changes: Any) -> StandingSignoff:
    one = asked(bench)
    request = one.rebuilt()
    pattern = Pattern.of(request.action, source=request.source, fields=("text",))
    options: dict[str, Any] = {"given": 2, "expires": time.time() + 60}
    standing = StandingSignoff(pattern=pattern, by="ann", channel="command", nonce=one.nonce, **{**options, **changes})
    decision = SignoffDecision(answer="standing", digest=one.digest, by="ann")
    assert bench.state.give_answer(one, decision, standing=standing) == ("approved", "")
    return standing


def test_a_standing_signoff_covers_so_many_calls(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        given = give_standing(bench)
        assert bench.call("local.write", text="a").status == "ok"
        assert bench.call("local.write", "t", text="b").status == "parked"
        statuses = [bench.call("local.write", session, text="a", note="!").status for session in ("t", "u", "v")]
        assert statuses == ["ok", "ok", "parked"]
        used = [record.body["standing"] for record in bench.state.records(event="call.started")]
        assert used == [None, given.id, given.id] and holds(bench)


@pytest.mark.parametrize("change", [{"version": "2.0"}, {"hash": "h2"}, {"defaults": {"external": "deny"}}])
def test_an_upgrade_or_another_policy_ends_a_standing_signoff(tmp_path: Path, change: dict[str, Any]) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        give_standing(bench)
    options = {"defaults": change.pop("defaults")} if "defaults" in change else {}
    with Bench(tmp_path, replace(WRITE, **change), **options) as bench:
        assert bench.call("local.write", "t", text="a").status == "parked" and not written
    with Bench(tmp_path, WRITE) as bench:
        assert bench.call("local.write", "u", text="a").status == "ok"


def test_what_has_an_impact_is_never_covered_by_a_standing_signoff(tmp_path: Path) -> None:
    wipe = replace(WRITE, impact=frozenset({"destroy"}))
    with Bench(tmp_path, wipe) as bench:
        bench.call("local.write", text="a")
        give_standing(bench)
        assert bench.call("local.write", "t", text="a").status == "parked" and not written


def test_a_standing_signoff_that_is_revoked_at_the_last_moment_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        given = give_standing(bench)

        async def start(attempt: Any) -> Any:
            bench.state.revoke_standing(given, by="ann")
            return await start_call(attempt)

        monkeypatch.setattr("remit.pipeline.execute.start", start)
        result = bench.call("local.write", "t", text="a")
        assert result.status == "denied" and "was revoked" in result.text and not written


def edit(bench: Bench, **arguments: Any) -> SignoffRequest:
    one = asked(bench)
    request = one.rebuilt()
    action = replace(request.action, arguments=arguments)
    edited = replace(request, action=action, nonce=os.urandom(16).hex(), edits=one.nonce)
    refusal = SignoffDecision(answer="deny", digest=one.digest, reason="edited", by="ann")
    approval = SignoffDecision(answer="edit", digest=edited.digest, by="ann")
    left = one.approvers - 1
    assert bench.state.give_edit(one, refusal, edited, approval) == ("pending" if left else "approved", "")
    return edited


def test_what_a_person_wrote_runs_in_the_place_of_what_the_model_asked(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a", note="secret plan")
        edit(bench, text="b")
        result = bench.call("local.write", text="a", note="secret plan")
        assert result.status == "ok" and written == ["b"]
        assert (
            'ann changed the arguments before approving the call: note: "secret plan" became not given' in result.text
        )
        assert 'text: "a" became "b"' in result.text and result.text.endswith("written")
        assert bench.call("local.write", text="a", note="secret plan").status == "parked"
        assert written == ["b"] and holds(bench)


def test_an_edit_that_does_not_fit_any_more_is_asked_anew(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        edit(bench, text=7)
        assert bench.call("local.write", text="a").status == "parked" and not written


def test_an_edit_is_decided_again_and_never_laxer(tmp_path: Path) -> None:
    rules = [
        {"id": "no-b", "verdict": "deny", "match": {"arguments": {"text": {"eq": "b"}}}},
        {"id": "apart-c", "verdict": "ask-apart", "match": {"arguments": {"text": {"eq": "c"}}}},
    ]
    with Bench(tmp_path, WRITE, rules=rules) as bench:
        for session, text, status in (("s", "b", "denied"), ("t", "c", "parked"), ("u", "d", "ok")):
            bench.call("local.write", session, text="a")
            edit(bench, text=text)
            assert bench.call("local.write", session, text="a").status == status
            for one in bench.state.signoffs():
                bench.state.give_answer(one, SignoffDecision(answer="deny", digest=one.digest, by="ann"))
    assert written == ["d"]


def test_two_people_must_approve_and_never_the_one_for_whom_it_is(tmp_path: Path) -> None:
    person = Person()
    person.apart = True
    options: dict[str, Any] = {"defaults": {"two_person": ["money"]}, "principal": "eve", "approver": person}
    with Bench(tmp_path, PAY, **options) as bench:
        parked = bench.call("local.pay", text="a")
        assert parked.status == "parked" and person.asked == [] and "two people" in parked.text
        for by, counts in (("eve", False), ("ann", True), ("Ann", False)):
            assert (answer(bench, by=by)[1] == "") is counts
            assert bench.call("local.pay", text="a").status == "parked"
        assert answer(bench, by="bob") == ("approved", "")
        assert bench.call("local.pay", text="a").status == "ok" and written == ["a"] and holds(bench)
    with Bench(tmp_path / "one", PAY, approver=person) as bench:
        assert bench.call("local.pay", text="a").status == "ok"


@pytest.mark.parametrize(("second", "status"), [("edit", "ok"), ("deny", "denied")])
def test_an_edit_that_waits_for_the_second_person_stands_for_what_was_asked(
    tmp_path: Path, second: Answer, status: str
) -> None:
    with Bench(tmp_path, PAY, defaults={"two_person": ["money"]}, principal="eve") as bench:
        one = replace(call("local.pay", text="a"), id="c")
        assert again(bench, one).status == "parked"
        edit(bench, text="b")
        (edited_,) = bench.state.signoffs()
        assert edited_.people == ("ann",) and edited_.request["action"]["arguments"] == {"text": "b"}
        assert [again(bench, one).status, bench.call("local.pay", text="a").status] == ["parked", "parked"]
        assert bench.state.signoffs() == (edited_,), "nobody is asked about the original again"
        answer(bench, second, by="bob")
        assert again(bench, one).status == status and written == (["b"] if status == "ok" else []) and holds(bench)


def again(bench: Bench, one: Call) -> Result:
    """Make the very call once more, as a run does that goes on."""
    return asyncio.run(bench.pipeline.call(one))


@pytest.mark.parametrize("approved", [False, True])
def test_what_nobody_answered_in_time_is_denied_when_its_run_goes_on(tmp_path: Path, approved: bool) -> None:
    one = replace(call("local.write", text="a"), id="c")
    with Bench(tmp_path, WRITE) as bench:
        assert again(bench, one).status == "parked"
        if approved:
            answer(bench)
        elapse(bench)
        for _ in range(2):  # also after a crash between the denial and the transcript
            told = again(bench, one)
            assert told.status == "denied" and "Denied by Remit" in told.text and "counts as a denial" in told.text
            assert ("approved" in told.text) is approved and told.text.endswith("puts a new question to the person.")
        assert bench.log("signoff.lapsed") == ["signoff.lapsed"] and not bench.state.signoffs() and not written
        assert bench.call("local.write", text="a").status == "parked", "a new call is a new question"
        answer(bench)
        assert bench.call("local.write", text="a").status == "ok" and written == ["a"] and holds(bench)


@pytest.mark.parametrize("here", [True, False])
def test_an_answer_for_the_session_can_be_taken_back(tmp_path: Path, here: bool) -> None:
    person = Person("session")
    with Bench(tmp_path, WRITE, approver=person if here else None) as bench:
        if not here:
            bench.call("local.write", text="a")
            answer(bench, "session")
        assert bench.call("local.write", text="a").status == "ok"
        assert bench.call("local.write", text="a", note="n").status == "ok", "the control: it is covered"
        (given,) = bench.state.signoffs(everything=True)
        assert given.state == "consumed" and bench.state.withdraw_approval(given, by="bob")
        assert not bench.state.withdraw_approval(given, by="bob")
        person.answer = "deny"
        again_ = bench.call("local.write", text="a", note="m")
        assert again_.status == ("denied" if here else "parked") and written == ["a", "an"]
        (record,) = bench.state.records(event="signoff.revoked")
        assert (record.body["by"], record.body["nonce"]) == ("bob", given.nonce) and holds(bench)


def test_an_answer_that_covers_the_call_counts_although_its_question_lapsed(tmp_path: Path) -> None:
    one = replace(call("local.write", text="a"), id="c")
    with Bench(tmp_path, WRITE) as bench:
        assert again(bench, one).status == "parked"
        elapse(bench)
        assert bench.call("local.write", text="a", note="n").status == "parked"
        answer(bench, "session")
        assert bench.call("local.write", text="a", note="n").status == "ok"
        assert again(bench, one).status == "ok" and written == ["an", "a"]


def elapse(bench: Bench) -> None:
    """Let the time of every request pass."""
    bench.state.database.write(lambda c: c.execute("UPDATE signoffs SET expires = 1"))


def test_an_approval_by_one_does_not_do_once_two_are_needed(tmp_path: Path) -> None:
    with Bench(tmp_path, PAY) as bench:
        bench.call("local.pay", text="a")
        answer(bench)
    with Bench(tmp_path, PAY, defaults={"two_person": ["money"]}) as bench:
        assert bench.call("local.pay", text="a").status == "parked" and not written


class Slow(Person):
    """Answers when it is told to."""

    def __init__(self, answer: Answer = "once", reason: str = "") -> None:
        super().__init__(answer, reason)
        self.go = asyncio.Event()

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        self.asked.append(request)
        await self.go.wait()
        return SignoffDecision(answer=self.answer, digest=request.digest, reason=self.reason, by="ann")


@pytest.mark.parametrize(
    ("given", "statuses", "runs"),
    [
        ("once", ["denied", "denied", "ok"], 1),
        ("session", ["ok", "ok", "ok"], 3),
        ("deny", ["denied"] * 3, 0),
    ],
)
def test_the_same_call_at_the_same_time_is_one_question(
    tmp_path: Path, given: Answer, statuses: list[str], runs: int
) -> None:
    person = Slow(given, "no")

    async def main(bench: Bench) -> list[str]:
        calls = [asyncio.create_task(bench.pipeline.call(call("local.write", text="a"))) for _ in range(3)]
        other = asyncio.create_task(bench.pipeline.call(call("local.write", text="b")))
        while len(person.asked) < 2:
            await asyncio.sleep(0.01)
        person.go.set()
        await other
        return sorted([(await one).status for one in calls])

    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert asyncio.run(main(bench)) == statuses
        assert len(person.asked) == 2 and written.count("a") == runs and holds(bench)


@pytest.mark.parametrize(("given", "status"), [("once", "ok"), ("deny", "denied")])
def test_a_question_on_this_terminal_can_be_answered_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Answer, status: str
) -> None:
    monkeypatch.setattr("remit.pipeline.waiting.LOOK_SECONDS", 0.02)
    person = Slow()

    async def main(bench: Bench) -> str:
        running = asyncio.create_task(bench.pipeline.call(call("local.write", text="a")))
        while not person.asked:
            await asyncio.sleep(0.01)
        with State(bench.state.folder) as other:
            (one,) = other.signoffs()
            decision = SignoffDecision(answer=given, digest=one.digest, by="bob", channel="command")
            await asyncio.to_thread(other.give_answer, one, decision)
        return (await running).status

    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert asyncio.run(main(bench)) == status
        answers = [
            (record.body["by"], record.body["answer"]) for record in bench.state.records(event="signoff.answered")
        ]
        assert answers == [("bob", given)] and len(written) == (given == "once") and holds(bench)


def test_a_question_on_this_terminal_can_be_edited_in_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.pipeline.waiting.LOOK_SECONDS", 0.02)
    person = Slow()

    async def main(bench: Bench) -> str:
        running = asyncio.create_task(bench.pipeline.call(call("local.write", text="a")))
        while not person.asked:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(edit, bench, text="b")
        return (await running).text

    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert 'text: "a" became "b"' in asyncio.run(main(bench)) and written == ["b"] and holds(bench)


@pytest.mark.parametrize("given", ["standing", "edit"])
def test_an_approver_of_the_program_has_no_standing_answer(tmp_path: Path, given: Answer) -> None:
    with Bench(tmp_path, WRITE, approver=Person(given)) as bench:
        result = bench.call("local.write", text="a")
        assert result.status == "denied" and "cannot answer" in result.text and not written


def test_a_parked_question_is_not_asked_twice_when_somebody_is_there_again(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        waiting = asked(bench)
    person = Person()
    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert bench.call("local.write", text="a").status == "ok"
        assert [request.nonce for request in person.asked] == [waiting.nonce]
        assert bench.state.signoffs() == () and bench.state.signoff(waiting.nonce).state == "consumed" and holds(bench)


@pytest.mark.parametrize("arguments", [{"text": "a\u202eb"}, {"text": "\x1b[31mred"}, {"text": "x" * 1_000_000}])
def test_odd_arguments_are_bound_like_any_other(tmp_path: Path, arguments: dict[str, str]) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", **arguments)
        one = asked(bench)
        assert one.rebuilt().action.arguments == arguments
        answer(bench)
        assert bench.call("local.write", **arguments).status == "ok" and written == [arguments["text"]]


def rules_of(skill: Skill, defaults: dict[str, Any], rules: tuple[dict[str, Any], ...] = ()) -> Callable[[], str]:
    loaded = [RuleConfig.model_validate(rule) for rule in rules]
    return lambda: Rules.load(loaded, DefaultsConfig.model_validate(defaults), skills={skill.full: skill}).digest


def test_a_rule_or_a_default_that_changes_is_another_policy() -> None:
    digests = {
        rules_of(WRITE, {})(),
        rules_of(WRITE, {"two_person": ["money"]})(),
        rules_of(WRITE, {}, ({"id": "a", "verdict": "ask"},))(),
    }
    assert len(digests) == 3


def test_fewer_impacts_for_two_people_widens_and_layers_only_add() -> None:
    def config(*impacts: str) -> Config:
        return Config.model_validate({"defaults": {"two_person": impacts}})

    more, fewer = config("money", "destroy"), config("money")
    assert compare(more, Lock(), fewer, Lock()).exit_code == 4
    assert not compare(fewer, Lock(), more, Lock()).needs_trust
    assert stricter_defaults(more.defaults, fewer.defaults).two_person == ("destroy", "money")
    assert stricter_defaults(config().defaults, more.defaults).two_person == ("destroy", "money")
    assert stricter_defaults(Config().defaults, fewer.defaults).two_person == ("money",)


def test_an_answer_for_the_session_holds_from_the_moment_it_was_given(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a", note="first")
        answer(bench, "session")
        assert bench.call("local.write", text="a", note="other").status == "ok", "though the first call never came"
        assert bench.call("local.write", text="a", note="first").status == "ok"
        assert bench.call("local.write", text="b").status == "parked", "the control"
        assert bench.call("local.write", "another", text="a").status == "parked" and holds(bench)


def test_an_answer_for_the_session_that_was_taken_back_unused_covers_nothing(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a", note="first")
        answer(bench, "session")
        (given,) = bench.state.signoffs(everything=True)
        assert bench.state.withdraw_approval(given, by="bob")
        assert bench.call("local.write", text="a", note="other").status == "parked" and not written and holds(bench)


def test_an_answer_for_the_session_covers_secret_arguments_without_keeping_them(tmp_path: Path) -> None:
    secret = replace(WRITE, targets={}, secret_arguments=frozenset({"note"}))
    with Bench(tmp_path, secret) as bench:
        bench.call("local.write", text="a", note="s3cr3t")
        (waiting,) = bench.state.signoffs()
        assert "s3cr3t" not in str(waiting.request)
        answer(bench, "session")
        assert [bench.call("local.write", text="a", note="s3cr3t").status for _ in range(2)] == ["ok", "ok"]
        assert bench.call("local.write", text="a", note="other").status == "parked", "the control"


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize(("impact", "asked_again"), [((), False), (("destroy",), True)])
def test_what_has_an_impact_is_asked_about_each_time_whatever_the_answer(
    tmp_path: Path, impact: tuple[Impact, ...], asked_again: bool, here: bool
) -> None:
    person = Person("session")
    skill = replace(WRITE, impact=frozenset(impact))
    with Bench(tmp_path, skill, approver=person if here else None) as bench:
        if not here:
            bench.call("local.write", text="a")
            answer(bench, "session")
        assert bench.call("local.write", text="a").status == "ok"
        again_ = bench.call("local.write", text="a", note="n").status
        if here:
            assert again_ == "ok" and len(person.asked) == (2 if asked_again else 1)
        else:
            assert again_ == ("parked" if asked_again else "ok")
        assert for_session(bench.state.signoffs(everything=True)[0].rebuilt()) is not asked_again
