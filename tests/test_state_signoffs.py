"""Sign-offs: bound to one action, consumed at most once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remit.state.records import Entry
from remit.state.store import State
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, fits

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
