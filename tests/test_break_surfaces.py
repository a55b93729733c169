"""Attacks on sign-off surfaces, tokens and the journal of installs: each one failed to be held once."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from remit.errors import RunError
from remit.http.answers import Refused
from remit.installing.journal import mend
from remit.pipeline.present import contents
from remit.pipeline.resources import resolved
from remit.state.old_tokens import remove_old
from remit.state.store import State
from remit.state_folder import state_root
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person, host_skill
from tests.signoff_parts import action
from tests.test_pipeline_present import changes, held, send, skill
from tests.test_pipeline_signoff_before import PAY, WRITE, asked, nothing_written, written
from tests.test_pipeline_terminal import REQUEST, Terminal, _edit, script, terminal

__all__ = ["nothing_written", "terminal"]

TWO: dict[str, Any] = {"defaults": {"two_person": ["money"]}, "principal": "eve"}


def wanted(bench: Bench, by: str, **arguments: Any) -> tuple[str, str]:
    """Edit the one request that waits, as `by`; return what came of it."""
    one = asked(bench)
    request = one.rebuilt()
    new = replace(request, action=replace(request.action, arguments=arguments), nonce=os.urandom(16).hex())
    refusal = SignoffDecision(answer="deny", digest=one.digest, reason="edited", by=by)
    return bench.state.give_edit(one, refusal, new, SignoffDecision(answer="edit", digest=new.digest, by=by))


def approved(bench: Bench, by: str) -> str:
    one = asked(bench)
    return bench.state.give_answer(one, SignoffDecision(answer="once", digest=one.digest, by=by))[1]


def test_an_edit_that_does_not_count_leaves_the_request_as_it_was(tmp_path: Path) -> None:
    """The one for whom it is done edits: what was asked was denied all the same, and the edit waited in its place."""
    with Bench(tmp_path, PAY, **TWO) as bench:
        bench.call("local.pay", text="a")
        before = asked(bench)
        assert "other people must approve" in wanted(bench, "eve", text="b")[1]
        assert asked(bench) == before and bench.log("signoff.answered") == []
        assert wanted(bench, "ann", text="b") == ("pending", ""), "the control"
        assert asked(bench).nonce != before.nonce


def test_an_edit_after_the_time_is_up_denies_nothing(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        late = SignoffRequest(action=action(), expires=time.time() - 1)
        state.put_signoff(late)
        refusal = SignoffDecision(answer="deny", digest=late.digest, by="ann")
        new = replace(late, action=action(arguments={"path": "b"}), nonce="e" * 32)
        approval = SignoffDecision(answer="edit", digest=new.digest, by="ann")
        assert "expired" in state.give_edit(state.signoff(late.nonce), refusal, new, approval)[1]
        assert state.signoff(late.nonce).state == "expired" and len(state.signoffs(everything=True)) == 1


def test_what_two_people_edit_one_after_the_other_runs(tmp_path: Path) -> None:
    """The second edit stood in the place of the first, which nobody asks for, and so never ran."""
    with Bench(tmp_path, PAY, **TWO) as bench:
        bench.call("local.pay", text="a")
        assert wanted(bench, "ann", text="b") == ("pending", "") and wanted(bench, "bob", text="c") == ("pending", "")
        assert approved(bench, "ann") == "" and not written
        assert bench.call("local.pay", text="a").status == "ok" and written == ["c"]


@pytest.mark.parametrize(("given", "status"), [("revoked", "parked"), ("denied", "denied")])
def test_a_second_edit_that_is_taken_back_is_asked_about_again(tmp_path: Path, given: str, status: str) -> None:
    with Bench(tmp_path, PAY, **TWO) as bench:
        assert asyncio.run(bench.pipeline.call(one_call("pay"))).status == "parked"
        wanted(bench, "ann", text="b")
        wanted(bench, "bob", text="c")
        one = asked(bench)
        if given == "denied":
            bench.state.give_answer(one, SignoffDecision(answer="deny", digest=one.digest, by="ann"))
        else:
            assert approved(bench, "ann") == "" and bench.state.withdraw_approval(one, by="ann")
        assert asyncio.run(bench.pipeline.call(one_call("pay"))).status == status and not written


def one_call(name: str) -> Any:
    from remit.values import Call

    return Call(id="c", skill=f"local.{name}", arguments='{"text": "a"}', session="s")


@pytest.mark.parametrize(("one", "other"), [("\uff21da", "ada"), ("Jose\u0301", "jos\u00e9"), ("\u212bsa", "\u00e5sa")])
def test_a_name_written_in_another_way_is_no_second_person(tmp_path: Path, one: str, other: str) -> None:
    with Bench(tmp_path, PAY, **{**TWO, "principal": other}) as bench:
        bench.call("local.pay", text="a")
        assert approved(bench, one), "whoever asks is none of the two"
        assert approved(bench, "ann") == "" and approved(bench, "\uff21NN") and approved(bench, "bob") == ""
        token = bench.state.add_token(one, by="root")
        assert bench.state.add_token(other, by="root") and bench.state.approver_of(token) is None


def test_an_answer_for_the_session_does_not_outlive_a_denial_that_came_first(tmp_path: Path) -> None:
    class Late(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            one = asked(bench)
            if self.answer == "session" and not self.asked:
                bench.state.give_answer(one, SignoffDecision(answer="deny", digest=one.digest, by="bob"))
            return await super().ask(request)

    late = Late("session")
    with Bench(tmp_path, WRITE, approver=late) as bench:
        assert bench.call("local.write", text="a", note="1").status == "denied" and not written
        bench.call("local.write", text="a", note="2")
        assert len(late.asked) == 2, "it was not allowed for the session"
        bench.call("local.write", text="a", note="3")
        assert len(late.asked) == 2 and written == ["a2", "a3"], "the control"


def test_an_answer_for_the_session_that_is_taken_back_at_once_allows_nothing(tmp_path: Path) -> None:
    class Elsewhere(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            self.asked.append(request)
            one = asked(bench)
            decision = SignoffDecision(answer="session", digest=one.digest, by="bob", channel="command")
            assert bench.state.give_answer(one, decision) == ("approved", "")
            if len(self.asked) == 1:
                assert bench.state.withdraw_approval(one, by="bob")
            return await asyncio.Future[SignoffDecision]()

    person = Elsewhere()
    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert bench.call("local.write", text="a", note="1").status == "denied" and not written
        assert bench.call("local.write", text="a", note="2").status == "ok" and len(person.asked) == 2
        assert bench.call("local.write", text="a", note="3").status == "ok" and len(person.asked) == 2, "the control"


def test_a_person_is_shown_the_change_of_the_very_file_that_is_bound(tmp_path: Path) -> None:
    """Between the two looks a cell is started: long enough to show one file and bind another."""
    one, file = skill(tmp_path), tmp_path / "a.txt"
    file.write_text("old\n")
    assert "-old" in changes(one, path="a.txt", content="new\n")
    bound = contents(one, {"path": str(file)})
    file.write_text("harmless\n")
    from remit.pipeline.file_changes import file_changes

    told = file_changes(one, {"path": "a.txt", "content": "new\n"}, {"path": str(file)}, bound)["path"]
    assert told == ("what is there cannot be compared (has changed meanwhile)",)
    file.unlink()
    told = file_changes(one, {"path": "a.txt", "content": "new\n"}, {"path": str(file)}, bound)["path"]
    assert told == ("what is there cannot be compared (has changed meanwhile)",)


@pytest.mark.parametrize("name", ["~notes.txt", "~/notes.txt", "file:notes.txt", "a://notes.txt"])
def test_a_name_that_could_mean_something_else_is_bound_as_it_stands(tmp_path: Path, name: str) -> None:
    """`~$draft.docx` is a name that office programs give; nothing of it was bound."""
    one, file = skill(tmp_path), tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("old")
    first = held(one, path=name)
    assert list(first) == ["path[as it stands]"] and resolved(one, {"path": name})[next(iter(first))] == str(file)
    file.write_text("new")
    assert held(one, path=name) != first
    file.unlink()
    file.symlink_to(tmp_path / "other")
    assert resolved(one, {"path": name})[next(iter(first))] == str(tmp_path / "other")
    assert held(skill(tmp_path, send), files=["a", name]).keys() == {"files[0]", "files[1][as it stands]"}
    assert held(one, path="") == {} and held(one, path="/proc/self/x") == {}


def test_what_is_typed_into_an_editor_that_fails_is_no_answer(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "import time\nprint('open', flush=True)\ntime.sleep(0.4)\nsys.exit(1)"
    monkeypatch.setenv("VISUAL", script(tmp_path, body))
    steps = (("(Enter denies): ", "e\n"), ("open", "a\n"), ("ended with 1", "\n"))
    found = asyncio.run(_edit(terminal, REQUEST, *steps))
    assert isinstance(found, SignoffDecision) and found.answer == "deny"


def test_an_editor_that_does_not_end_does_not_keep_the_terminal(tmp_path: Path) -> None:
    import threading

    from remit.pipeline.terminal_edit import NotEdited, in_editor

    body = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    given_up = threading.Event()
    given_up.set()
    terminal = os.open(os.devnull, os.O_RDWR)
    try:
        with pytest.raises(NotEdited, match="ended with -"):
            in_editor(script(tmp_path, body), "{}", terminal=terminal, given_up=given_up)
    finally:
        os.close(terminal)


def test_json_that_is_too_deep_is_asked_for_again() -> None:
    from remit.pipeline.terminal_edit import one_by_one

    typed = iter(["[" * 4_000, "2"])
    assert json.loads(one_by_one({"count": 1}, lambda _: next(typed))) == {"count": 2}


def in_file(state: State, name: str) -> Path:
    path = state.folder / "http-tokens" / f"{name}.json"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps({"name": name, "roles": ["approver"], "created": 1.0, "hash": "00" * 32}))
    return path


def test_a_token_that_is_removed_while_it_is_moved_stays_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.state import people

    with State(tmp_path) as state:
        in_file(state, "ann")
        read = people.old_tokens(state.folder)
        monkeypatch.setattr(people, "old_tokens", lambda _: read)
        assert state.remove_token("ann", by="root")
        assert state.take_over_tokens() == ()
        assert not state.database.read(lambda c: c.execute("SELECT name FROM approvers").fetchall())
        in_file(state, "ann")
        assert state.take_over_tokens() == ("ann",), "the control"


def test_a_crash_while_a_token_is_replaced_leaves_no_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(folder: Path, name: str) -> bool:
        if dies == "before":
            raise KeyboardInterrupt
        remove_old(folder, name)
        raise KeyboardInterrupt

    for dies in ("before", "after"):
        with State(tmp_path / dies) as state, monkeypatch.context() as patch:
            in_file(state, "ann")
            patch.setattr("remit.state.people.remove_old", crash)
            with pytest.raises(KeyboardInterrupt):
                state.add_token("ann", by="root")
            assert len(state.tokens()) <= 1


@pytest.mark.parametrize("text", ["[]", "7", "null", "{}", '{"what": 1, "more": 2}', "[" * 100_000, "{"])
def test_a_journal_that_is_none_is_said_and_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    folder = state_root() / "installing"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    (folder / "journal.json").write_text(text)
    with pytest.raises(RunError, match=r"cannot be read|cannot be undone"):
        mend()
    assert (folder / "journal.json").exists()


def test_an_approval_is_used_by_the_call_that_it_was_given_for_also_where_a_result_is_kept(tmp_path: Path) -> None:
    def look(text: str) -> str:
        """Look."""
        looked.append(text)
        return "seen"

    looked: list[str] = []
    one = host_skill(look, idempotent=True, cache=60, hash="h", version="1")
    with Bench(tmp_path, one, defaults={"read": "ask"}, approver=Person()) as bench:
        for _ in range(2):
            assert bench.call("local.look", text="a").status == "ok"
        assert {found.state for found in bench.state.signoffs(everything=True)} == {"consumed"} and looked == ["a", "a"]
    with Bench(tmp_path / "free", one) as bench:
        for _ in range(2):
            assert bench.call("local.look", text="a").status == "ok"
        assert looked == ["a", "a", "a"], "the control"


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Port", "CF-Connecting-IP"])
def test_whatever_a_proxy_says_of_itself_everybody_behind_it_is_not_the_person_here(tmp_path: Path, name: str) -> None:
    from remit.http import Rates
    from remit.http.failures import Failures
    from remit.http.gate import Gate
    from remit.http.tokens import Tokens

    def admitted(**headers: str) -> bool:
        lines = [(key.lower().encode(), value.encode()) for key, value in {"Host": "localhost", **headers}.items()]
        scope = {"type": "http", "method": "GET", "path": "/", "headers": lines, "client": ("127.0.0.1", 1)}
        try:
            return asyncio.run(gate.admit(Request(scope), None)).alone
        except Refused as refused:
            return refused.status != 403

    gate = Gate(
        person="ann",
        identify=None,
        tokens=Tokens(tmp_path),
        own_tokens=False,
        failures=Failures(lambda _: None, Rates()),
        rates=Rates(),
    )
    assert not admitted(**{name: "https"})
    assert admitted(**{"X-Requested-With": "x"}), "the control"
