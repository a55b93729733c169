"""Sign-offs: bound to one action, consumed at most once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import StateError, UsageError
from remit.state.records import Entry
from remit.state.retention import Selection, remove
from remit.state.standing import Pattern, StandingSignoff
from remit.state.store import State
from remit_sandbox.signoff import (
    Action,
    Answer,
    Asked,
    SignoffDecision,
    SignoffRequest,
    answered,
    fits,
    may_follow,
)

ACTION = Action(
    skill="files.delete_file",
    version="1",
    skill_hash="h",
    arguments={"path": "a.txt"},
    session="s",
    principal="p",
    policy="d",
)
STARTED = Entry(event="call.started", session="s", call="1")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as state:
        yield state


def _approved(state: State, request: SignoffRequest) -> SignoffDecision:
    state.put_signoff(request, call="1")
    decision = SignoffDecision(answer="once", digest=request.digest)
    assert state.decide_signoff(decision, nonce=request.nonce) == "approved"
    return decision


@pytest.mark.parametrize(
    "change",
    [
        {"skill": "files.write_file"},
        {"version": "2"},
        {"skill_hash": "x"},
        {"arguments": {"path": "b.txt"}},
        {"resolved": {"path": "/b"}},
        {"session": "t"},
        {"principal": "q"},
        {"policy": "e"},
    ],
)
def test_every_part_of_the_action_changes_both_digests(change: dict[str, object]) -> None:
    request = SignoffRequest(action=ACTION)
    other = replace(request, action=replace(ACTION, **change))  # type: ignore[arg-type]
    assert request.digest != other.digest and request.action.digest != other.action.digest
    assert fits(other, SignoffDecision(answer="once", digest=request.digest))


def test_nonce_and_expiry_change_the_requests_digest_only() -> None:
    request = SignoffRequest(action=ACTION)
    for change in ({"nonce": "n"}, {"expires": 1.0}):
        other = replace(request, **change)  # type: ignore[arg-type]
        assert other.digest != request.digest and other.action.digest == request.action.digest


def test_an_approval_is_consumed_with_its_record(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    _approved(state, request)
    assert state.start_call([STARTED], nonce=request.nonce, digest=request.digest)
    assert not state.start_call([STARTED], nonce=request.nonce, digest=request.digest)
    assert len(list(state.records(event="call.started"))) == 1


def test_fifty_consumers_of_one_approval_run_once(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    _approved(state, request)
    won: list[bool] = []

    def consume() -> None:
        with State(state.folder) as mine:
            won.append(mine.start_call([STARTED], nonce=request.nonce, digest=request.digest))

    threads = [threading.Thread(target=consume) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 49 + [True]
    assert len(list(state.records(event="call.started"))) == 1


def test_nothing_else_starts(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request)
    assert not state.start_call([STARTED], nonce=request.nonce, digest=request.digest)
    assert not state.start_call([STARTED], nonce="none", digest=request.digest)
    wrong = SignoffDecision(answer="once", digest="0" * 64)
    assert state.decide_signoff(wrong, nonce=request.nonce) == "pending"
    refusal = SignoffDecision(answer="deny", digest=request.digest)
    assert state.decide_signoff(refusal, nonce=request.nonce) == "denied"
    late = SignoffDecision(answer="once", digest=request.digest)
    assert state.decide_signoff(late, nonce=request.nonce) == "denied"
    assert not state.start_call([STARTED], nonce=request.nonce, digest=request.digest)


def test_an_expired_request_is_a_denial(state: State) -> None:
    request = SignoffRequest(action=ACTION, expires=time.time() - 1)
    state.put_signoff(request)
    decision = SignoffDecision(answer="once", digest=request.digest)
    assert fits(request, decision)
    assert state.decide_signoff(decision, nonce=request.nonce) == "expired"
    assert not state.start_call([STARTED], nonce=request.nonce, digest=request.digest)


def test_pending_requests_are_listed_until_they_are_answered(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request, call="7")
    state.put_signoff(SignoffRequest(action=ACTION, expires=time.time() - 1))
    (pending,) = state.pending_signoffs()
    assert (pending.nonce, pending.digest, pending.call) == (request.nonce, request.digest, "7")
    assert pending.request["action"]["arguments"] == {"path": "a.txt"}
    state.decide_signoff(SignoffDecision(answer="deny", digest=request.digest), nonce=request.nonce)
    assert state.pending_signoffs() == ()


def test_secret_arguments_are_bound_and_not_kept(state: State) -> None:
    request = SignoffRequest(action=ACTION, secret=("path",))
    state.put_signoff(request)
    (pending,) = state.pending_signoffs()
    assert pending.request["action"]["arguments"] == {"path": "[not recorded]"}
    assert pending.digest == request.digest


def test_answers_hold_for_their_session(state: State) -> None:
    state.remember_answer("s", "a", "denied", "no")
    assert state.remembered_answer("s", "a") == ("denied", "no")
    assert state.remembered_answer("t", "a") is None and state.remembered_answer("s", "b") is None


def test_an_answer_from_elsewhere_leaves_a_record_without_the_persons_words(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request, call="7")
    asked = state.signoff(request.nonce[:8])
    answer = SignoffDecision(answer="deny", digest=request.digest, reason="Ann said no", by="ann", channel="command")
    assert state.give_answer(asked, answer) == ("denied", "")
    kept = state.database.read(lambda c: c.execute("SELECT body FROM records").fetchall())
    assert len(kept) == 1 and b"Ann said no" not in kept[0][0] and b'"by":"ann"' in kept[0][0]
    (record,) = state.records(event="signoff.answered")
    assert (record.body["reason"], record.body["nonce"], record.call) == ("Ann said no", request.nonce, "7")
    assert state.give_answer(asked, answer) == ("denied", "it is denied already")
    assert len(list(state.records())) == 1


def test_a_request_comes_back_as_it_was_asked(state: State) -> None:
    odd = replace(ACTION, arguments={"$ref": {"$int": "7"}, "n": 0.1, "big": 2**60, "list": [1, None, "\u202e"]})
    request = SignoffRequest(action=odd, impact=("destroy",), reach={"net": ("a:443",)}, targets=("n",))
    state.put_signoff(request)
    rebuilt = state.signoff(request.nonce).rebuilt()
    assert rebuilt == request and rebuilt.digest == request.digest
    hidden = replace(SignoffRequest(action=odd), secret=("n",))
    state.put_signoff(hidden)
    assert state.signoff(hidden.nonce).rebuilt().action.arguments["n"] == "[not recorded]"


def test_a_request_that_was_changed_in_the_file_cannot_be_approved(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request)
    swap = "UPDATE signoffs SET request = CAST(replace(CAST(request AS TEXT), 'a.txt', 'b.txt') AS BLOB)"
    state.database.write(lambda connection: connection.execute(swap))
    with pytest.raises(StateError, match="was changed after it was asked"):
        state.signoff(request.nonce).rebuilt()


@pytest.mark.parametrize("start", ["", "abc", "../../x", "' OR 1", "0" * 40])
def test_an_id_that_is_none_is_named(state: State, start: str) -> None:
    state.put_signoff(SignoffRequest(action=ACTION))
    with pytest.raises(UsageError, match=r"id of a request|no request begins"):
        state.signoff(start)


NAMES = st.sampled_from(["p", "P ", "ann", " Ann", "bob", "cy", ""])
ANSWERS: st.SearchStrategy[Answer] = st.sampled_from(["once", "session", "edit", "deny", "stop"])
STEPS = st.lists(st.tuples(NAMES, ANSWERS, st.sampled_from(["right", "wrong"]), st.floats(0, 20)), max_size=8)


@given(steps=STEPS, needed=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_only_enough_other_people_approve(steps: list[tuple[str, Answer, str, float]], needed: int) -> None:
    asked = Asked(digest="right", principal="p", expires=10.0, approvers=needed)
    counted: set[str] = set()
    for who, answer, digest, now in steps:
        before = asked
        asked, why_not = answered(before, SignoffDecision(answer=answer, digest=digest, by=who), now=now)
        assert asked == before or may_follow(before.state, asked.state) or asked.state == before.state == "pending"
        if why_not:
            assert asked.state in (before.state, "expired") and asked.people == before.people
            continue
        assert digest == "right" and before.state == "pending"
        if answer not in ("deny", "stop"):
            assert now <= 10.0
            counted.add(who.strip().casefold())
        else:
            assert asked.state == "denied"
        assert (asked.state == "approved") == (answer not in ("deny", "stop") and len(asked.people) == needed)
    if asked.state == "approved" and needed > 1:
        assert len(counted) == needed and not counted & {"p", ""}


def test_two_people_approve_across_processes(state: State) -> None:
    request = SignoffRequest(action=ACTION, approvers=2)
    state.put_signoff(request)
    said = []
    for by in ("p", "ann", "ANN", "bob"):
        with State(state.folder) as other:
            asked = other.signoff(request.nonce)
            said.append(other.give_answer(asked, SignoffDecision(answer="once", digest=request.digest, by=by)))
    assert [after for after, _ in said] == ["pending", "pending", "pending", "approved"]
    assert "for whom it is done" in said[0][1] and said[1][1] == said[3][1] == "" and "already" in said[2][1]
    assert state.signoff(request.nonce).people == ("ann", "bob")
    assert [record.body["by"] for record in state.records(event="signoff.answered")] == ["ann", "bob"]


def test_one_refusal_is_enough(state: State) -> None:
    request = SignoffRequest(action=ACTION, approvers=2)
    state.put_signoff(request)
    for by, answer in (("ann", "once"), ("p", "deny")):
        given = SignoffDecision(answer=answer, digest=request.digest, by=by)  # type: ignore[arg-type]
        state.give_answer(state.signoff(request.nonce), given)
    assert state.signoff(request.nonce).state == "denied"


def standing(**changes: Any) -> StandingSignoff:
    pattern = Pattern.of(ACTION, source="default write", fields=("path",))
    options: dict[str, Any] = {"given": 3, "expires": time.time() + 60, "by": "ann", "channel": "command"}
    return StandingSignoff(pattern=pattern, nonce="n", **{**options, **changes})


def _keep(state: State, one: StandingSignoff) -> StandingSignoff:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request)
    decision = SignoffDecision(answer="standing", digest=request.digest, by="ann")
    assert state.give_answer(state.signoff(request.nonce), decision, standing=one) == ("approved", "")
    return one


@pytest.mark.parametrize(
    "change",
    [
        {"skill": "files.write_file"},
        {"version": "2"},
        {"skill_hash": "x"},
        {"arguments": {"path": "b.txt"}},
        {"arguments": {}},
        {"arguments": {"path": True}},
        {"resolved": {"path": "/b"}},
        {"principal": "q"},
        {"policy": "e"},
    ],
)
def test_a_standing_signoff_covers_its_pattern_only(state: State, change: dict[str, Any]) -> None:
    kept = _keep(state, standing())
    same = replace(ACTION, session="another", arguments={"path": "a.txt", "note": "free"})
    found = state.standing_for(same, "default write")
    assert found is not None and (found.id, found.uses) == (kept.id, 3)
    assert state.standing_for(same, "rule other") is None
    assert state.standing_for(replace(ACTION, **change), "default write") is None


def test_uses_of_a_standing_signoff_are_taken_once_each(state: State) -> None:
    kept = _keep(state, standing(given=5))
    won: list[bool] = []

    def consume() -> None:
        with State(state.folder) as mine:
            won.append(asyncio.run(mine.astart_under([STARTED], standing=kept.id)))

    threads = [threading.Thread(target=consume) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 15 + [True] * 5
    assert len(list(state.records(event="call.started"))) == 5
    (left,) = state.standing_signoffs(everything=True)
    assert (left.uses, left.state) == (0, "used up") and state.standing_signoffs() == ()


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_standing_signoff_ends(state: State, end: str) -> None:
    kept = _keep(state, standing(expires=time.time() - 1 if end == "expired" else time.time() + 60))
    if end == "revoked":
        assert state.revoke_standing(kept, by="bob") and not state.revoke_standing(kept, by="bob")
        assert [record.body["by"] for record in state.records(event="signoff.revoked")] == ["bob"]
    assert state.standing_for(ACTION, "default write") is None
    assert not asyncio.run(state.astart_under([STARTED], standing=kept.id))
    assert [one.state for one in state.standing_signoffs(everything=True)] == [end]
    assert not list(state.records(event="call.started"))


def test_the_values_of_a_standing_signoff_can_be_erased_from_the_log(state: State) -> None:
    _keep(state, standing())
    kept = state.database.read(lambda c: c.execute("SELECT body FROM records").fetchall())
    assert kept and all(b"a.txt" not in body for (body,) in kept)
    (record,) = state.records(event="signoff.standing")
    assert record.body["fixed"] == '{"path":"a.txt"}' and record.body["fields"] == ["path"]


def test_an_approval_is_taken_back_before_it_is_used(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    _approved(state, request)
    assert state.withdraw_approval(state.signoff(request.nonce), by="ann")
    assert not state.start_call([STARTED], nonce=request.nonce, digest=request.digest)
    used = SignoffRequest(action=ACTION)
    _approved(state, used)
    assert state.start_call([STARTED], nonce=used.nonce, digest=used.digest)
    assert not state.withdraw_approval(state.signoff(used.nonce), by="ann")


def test_an_edit_takes_the_place_of_what_was_asked(state: State) -> None:
    request = SignoffRequest(action=ACTION)
    state.put_signoff(request, call="7")
    edited = SignoffRequest(action=replace(ACTION, arguments={"path": "b.txt"}), edits=request.nonce)
    refusal = SignoffDecision(answer="deny", digest=request.digest, reason="edited", by="ann")
    approval = SignoffDecision(answer="edit", digest=edited.digest, by="ann")
    asked = state.signoff(request.nonce)
    assert state.give_edit(asked, replace(refusal, digest="0"), edited, approval)[1] and state.asked_already(
        "s", ACTION.digest
    )
    assert state.give_edit(asked, refusal, edited, approval) == ("approved", "")
    found = state.edit_of("s", ACTION.digest)
    assert found is not None and found.rebuilt() == edited and found.call == "7"
    assert state.edit_of("t", ACTION.digest) is None and state.approval("s", ACTION.digest) is None
    assert [r.event for r in state.records()] == ["signoff.answered", "signoff.asked", "signoff.answered"]
    assert state.give_edit(asked, refusal, replace(edited, nonce="n"), approval)[1]


def test_a_token_proves_one_name(state: State) -> None:
    token = state.add_token("Ann", by="root")
    assert (
        state.approver_of(token) == "Ann" and state.approver_of(token + "x") is None and state.approver_of("") is None
    )
    assert token not in state.database.path.read_bytes().decode("latin-1")
    again = state.add_token("ann", by="root")
    assert state.approver_of(token) is None and state.approver_of(again) == "ann"
    assert [one.name for one in state.tokens()] == ["ann"]
    assert state.remove_token("ANN", by="root") and not state.remove_token("ann", by="root")
    assert state.approver_of(again) is None
    events = [record.event for record in state.records()]
    assert events == ["token.added", "token.removed", "token.added", "token.removed"]
    for name in ("", " ", "x" * 65, "a\u202eb", "a\nb"):
        with pytest.raises(UsageError):
            state.add_token(name, by="root")


@pytest.mark.parametrize(
    ("selection", "left"),
    [({"who": "p"}, 0), ({"who": "q"}, 2), ({"before": 2e9}, 1), ({"who": "p", "session": "s"}, 2)],
)
def test_what_is_removed_takes_standing_signoffs_with_it(state: State, selection: dict[str, Any], left: int) -> None:
    for lasts in (60, -1):
        _keep(state, standing(expires=time.time() + lasts))
    remove(state.database, Selection(**selection), why="person")
    assert len(state.standing_signoffs(everything=True)) == left
