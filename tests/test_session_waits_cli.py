"""What waits in a session, as the command line, a conversation and HTTP tell of it; and what an answer says is next."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from remit_sandbox.signoff import SignoffDecision
from tests.in_process import Here
from tests.model_server import ModelServer, calls, serve, text
from tests.signoff_parts import asked, parked, state, waiting

SAVE = ("files__write_file", {"path": "a.txt", "content": "hi"})


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return Here(place=tmp_path_factory.mktemp("waits")).make("files")


@pytest.fixture(autouse=True)
def settled(here: Here) -> Iterator[None]:
    """Leave nothing that waits to the next test."""
    yield
    with state(here) as opened:
        for one in opened.signoffs():
            opened.give_answer(one, SignoffDecision(answer="deny", digest=one.digest, by="nobody"))


def speaking(server: ModelServer) -> tuple[str, ...]:
    return ("--model", "m", "--base-url", server.base_url)


def test_run_refuses_another_question_and_says_how_it_goes_on(here: Here) -> None:
    with serve([calls(SAVE), text("Saved."), text("Nothing.")]) as server:
        ran = here.remit("run", "Save hi in a.txt.", "--session", "s1", *speaking(server), expect=3)
        assert "session s1 is saved; once that is answered: remit sessions resume s1" in ran.err
        (one,) = waiting(here)
        refused = here.remit("run", "And now?", "--session", "s1", *speaking(server), expect=2)
        assert "session s1 takes no other question yet: files.write_file waits for a person's sign-off" in refused.err
        assert f"  next: remit signoff show {one['id'][:12]}" in refused.err
        assert "\n  then: remit sessions resume s1" in refused.err and "\n  or: ask with --withdraw" in refused.err
        told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
        assert "next: remit sessions resume s1" in told.err
        refused = here.remit("run", "And now?", "--session", "s1", *speaking(server), expect=2)
        assert "is approved and has not run yet\n  next: remit sessions resume s1" in refused.err
        assert "1 session went on, 0 wait" in here.remit("sessions", "work", *speaking(server)).out
        assert here.remit("run", "And now?", "--session", "s1", *speaking(server)).out == "Nothing.\n"
    assert (here.folder / "workspace/a.txt").read_text() == "hi"


def test_run_takes_it_back_and_tells_the_model_the_person_and_the_approver(here: Here) -> None:
    with serve([calls(SAVE), text("Fine.")]) as server:
        here.remit("run", "Save hi in a.txt.", "--session", "s2", *speaking(server), expect=3)
        (one,) = waiting(here)
        ran = here.remit("run", "Leave it.", "--session", "s2", "--withdraw", *speaking(server))
        assert ran.out == "Fine.\n" and "told the model: files.write_file: Not run: it waited for a person's" in ran.err
        result = server.bodies[1]["messages"][-2]
        assert result["role"] == "tool" and result["content"].startswith("Not run: it waited")
    assert here.remit("signoff", "list").out == "nothing waits for a sign-off\n"
    assert "taken back: another question" in here.remit("signoff", "show", one["id"]).out
    late = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], expect=1)
    assert "was denied by Remit" in late.err
    assert "0 sessions went on, 0 wait" in here.remit("sessions", "work", "--model", "m").out
    here.remit("log", "verify")


def test_a_conversation_refuses_goes_on_and_takes_back(here: Here) -> None:
    with serve([calls(SAVE), text("Fine."), calls(SAVE)]) as server:
        talk = ("chat", "--session", "s3", *speaking(server))
        ran = here.remit(*talk, stdin=b"Save hi.\nAnd now?\n/resume\n/withdraw\nLeave it.\nSave it!\n/quit\n")
        assert ran.out == "Fine.\n"
        assert "or here: /resume once it is answered, /withdraw before another question" in ran.err
        assert "session s3 takes no other question yet" in ran.err
        assert [body["messages"][-1]["content"] for body in server.bodies] == ["Save hi.", "Leave it.", "Save it!"]
        (one,) = waiting(here)
        here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    with serve([text("Saved.")]) as server:
        again = here.remit("chat", "--session", "s3", *speaking(server), stdin=b"And now?\n/resume\n/resume\n")
        assert again.out == "Saved.\n" and "is approved and has not run yet" in again.err
        assert "session s3 has come to its end" in again.err, "which ends no conversation"


def test_an_answer_says_what_it_covers(here: Here) -> None:
    one = asked(here)
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--session")
    assert "approved: files.write_file, and with the same targets in session " in told.out
    assert "one call" not in told.out
    other = asked(here)
    once = here.remit("signoff", "approve", other["id"], "--digest", other["digest"])
    assert once.out == "approved: files.write_file, for this one call\n"


def test_after_an_answer_to_a_run_that_still_waits_nobody_has_to_do_anything(here: Here) -> None:
    with state(here) as process:
        one = parked(here)
        real = process.signoff(one["id"]).rebuilt()
        open_ = replace(real, nonce=secrets.token_hex(16))  # as a run asks on its own terminal
        process.put_signoff(open_, call=one["call"])
        with process.leased(one["session"]):
            told = here.remit("signoff", "approve", open_.nonce, "--digest", open_.digest)
            assert f"next: nothing; the run in session {one['session']} waited" in told.err
            after = here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
            assert f"next: remit sessions resume {one['session']}" in after.err, "a parked one has ended"


def test_an_answer_to_what_no_run_comes_back_to_says_so(here: Here) -> None:
    one = parked(here)
    with state(here) as opened:
        saved = opened.load_session(one["session"])
        assert saved is not None
        opened.save_session(saved.id, saved.transcript, status="answered")
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert "sessions resume" not in told.err and "call the skill there again" in told.err


def test_of_what_to_do_next_one_thing_stands_in_the_place_of_the_other(here: Here) -> None:
    one = asked(here)
    shown = here.remit("signoff", "show", one["id"])
    assert "and: or:" not in shown.err and f"\n  or: remit signoff deny {one['id'][:12]}" in shown.err
    assert "--session allows files.write_file again" in shown.out


def test_a_covered_call_is_said_to_be_and_another_one_asks(here: Here) -> None:
    with serve([calls(SAVE), calls(SAVE), calls(("files__write_file", {**SAVE[1], "path": "b.txt"}))]) as server:
        first = here.remit("run", "Save hi.", "--session", "s9", *speaking(server), expect=3)
        assert "ask: it changes something" in first.err and "covers it" not in first.err
        (one,) = waiting(here)
        here.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--session")
        ran = here.remit("sessions", "resume", "s9", *speaking(server), expect=3)
    told = [line.strip() for line in ran.err.splitlines() if line.strip().startswith("ask: ")]
    assert [line.endswith("a sign-off that was given before covers it") for line in told] == [True, True, False]


def test_what_a_session_has_at_all_is_not_allowed_for_the_session(here: Here) -> None:
    here.edit("[defaults]", '[defaults]\nsession_grants = "proposed"')
    here.remit("apply", "--yes")
    with serve([calls(("remit__enable_skills", {"skills": ["files.write_file"]}))]) as server:
        here.remit("run", "Save hi.", "--session", "s8", *speaking(server), expect=3)
    (one,) = waiting(here)
    assert "--session" not in here.remit("signoff", "show", one["id"]).out
    refused = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--session", expect=2)
    assert "signed off each time" in refused.err
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert "next: remit sessions resume s8" in told.err
