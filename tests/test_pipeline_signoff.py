"""Sign-off: nothing runs before the answer, each approval runs once, a refusal is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.provenance.ledger import Ledger
from remit.skills import Skill
from remit_sandbox import Rights, Sandbox
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person, call, counted_cells, host_skill, pack_skills

written: list[str] = []


def write(text: str) -> str:
    """Write."""
    written.append(text)
    return "written"


def look() -> int:
    """Look."""
    return len(written)


WRITE = host_skill(write, effect="write")
WIPE = replace(WRITE, name="wipe", impact=frozenset({"destroy"}))
PAY = replace(WRITE, name="pay", impact=frozenset({"money"}))
LOOK = host_skill(look)
ALL = (WRITE, WIPE, PAY, LOOK)


@pytest.fixture(autouse=True)
def nothing_written() -> None:
    written.clear()


def test_a_read_runs_without_a_question(tmp_path: Path) -> None:
    person = Person()
    with Bench(tmp_path, *ALL, approver=person) as bench:
        assert bench.call("local.look").status == "ok"
    assert person.asked == []


def test_a_write_waits_for_the_answer_and_runs_once(tmp_path: Path) -> None:
    person = Person("once")
    with Bench(tmp_path, *ALL, approver=person) as bench:
        assert bench.call("local.write", text="a").status == "ok"
        assert bench.call("local.write", text="a").status == "ok"
        log = bench.log()
    assert written == ["a", "a"] and len(person.asked) == 2
    assert log[:6] == [
        "call.proposed",
        "call.decided",
        "signoff.asked",
        "signoff.answered",
        "call.started",
        "call.finished",
    ]


def test_a_refusal_holds_for_the_same_action_in_this_session(tmp_path: Path) -> None:
    person = Person("deny", "not today")
    with Bench(tmp_path, *ALL, approver=person) as bench:
        first = bench.call("local.write", text="a")
        second = bench.call("local.write", text="a")
        person.answer = "once"
        other = bench.call("local.write", text="b")
        elsewhere = bench.call("local.write", "t", text="a")
    assert first.status == second.status == "denied"
    assert "not today" in first.text and "Denied by a person" in first.text
    assert "before" in second.text
    assert (other.status, elsewhere.status) == ("ok", "ok")
    assert written == ["b", "a"] and len(person.asked) == 3


def test_an_answer_for_the_session_covers_the_same_arguments_only(tmp_path: Path) -> None:
    person = Person("session")
    with Bench(tmp_path, *ALL, approver=person) as bench:
        for text in ("a", "a", "b"):
            assert bench.call("local.write", text=text).status == "ok"
    assert [request.action.arguments["text"] for request in person.asked] == ["a", "b"]


def test_an_answer_for_the_session_fixes_the_targets(tmp_path: Path) -> None:
    def send(to: str, body: str) -> str:
        return "sent"

    person = Person("session")
    skill = host_skill(send, effect="external", targets={"to": "address"})
    with Bench(tmp_path, skill, approver=person) as bench:
        for to, body in (("a@x.example", "1"), ("a@x.example", "2"), ("b@x.example", "2")):
            assert bench.call("local.send", to=to, body=body).status == "ok"
    assert [request.action.arguments["to"] for request in person.asked] == ["a@x.example", "b@x.example"]
    assert person.asked[0].action.resolved == {"to": "x.example"}


def test_stop_ends_the_step(tmp_path: Path) -> None:
    with Bench(tmp_path, *ALL, approver=Person("stop")) as bench:
        results = bench.many(call("local.write", text="a"), call("local.write", text="b"))
    assert [result.status for result in results] == ["cancelled", "cancelled"]
    assert results[0].stop and not written


@pytest.mark.parametrize(("mode", "status"), [("park", "parked"), ("deny", "denied")])
def test_nobody_is_there(tmp_path: Path, mode: str, status: str) -> None:
    with Bench(tmp_path, *ALL, unattended=mode) as bench:
        result = bench.call("local.wipe", text="a")
        assert result.status == status and result.remedy and not written
        assert len(bench.state.pending_signoffs()) == (1 if mode == "park" else 0)
        assert "remit.toml" in bench.call("local.write", text="a").remedy


def test_money_cannot_be_allowed_on_the_runs_own_terminal(tmp_path: Path) -> None:
    person = Person("once")
    with Bench(tmp_path, *ALL, approver=person, unattended="deny") as bench:
        result = bench.call("local.pay", text="a")
        assert result.status == "denied" and "cannot reach" in result.remedy
    assert person.asked == [] and not written
    person.apart = True  # type: ignore[misc]
    with Bench(tmp_path / "apart", *ALL, approver=person, unattended="deny") as bench:
        assert bench.call("local.pay", text="a").status == "ok"


class Strange:
    """Gives whatever it is told to give."""

    apart = False

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        answer: SignoffDecision = self.answer(request)
        return answer


def test_an_answer_for_another_action_approves_nothing(tmp_path: Path) -> None:
    wrong = Strange(lambda request: SignoffDecision(answer="once", digest="0" * 64, by="ann"))
    with Bench(tmp_path, *ALL, approver=wrong) as bench:
        result = bench.call("local.write", text="a")
    assert result.status == "denied" and "another action" in result.text and not written


def test_a_channel_that_breaks_is_a_denial(tmp_path: Path) -> None:
    def broken(request: SignoffRequest) -> SignoffDecision:
        raise OSError("no terminal")

    with Bench(tmp_path, *ALL, approver=Strange(broken)) as bench:
        result = bench.call("local.write", text="a")
        assert result.status == "denied" and not written
        bench.pipeline._around.approver.answer = lambda r: SignoffDecision(  # type: ignore[union-attr]
            answer="once", digest=r.digest, by="ann"
        )
        assert bench.call("local.write", text="a").status == "ok"


def test_an_answer_after_the_expiry_approves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.pipeline.signoff.SIGNOFF_SECONDS", 0.05)

    class Late(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            await asyncio.sleep(0.3)
            return await super().ask(request)

    with Bench(tmp_path, *ALL, approver=Late()) as bench:
        result = bench.call("local.write", text="a")
    assert result.status == "denied" and "in time" in result.text and not written


def test_a_cancelled_question_cannot_be_answered_later(tmp_path: Path) -> None:
    class Slow(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            self.asked.append(request)
            await asyncio.Event().wait()
            raise AssertionError

    person = Slow()
    with Bench(tmp_path, *ALL, approver=person) as bench:

        async def main() -> None:
            task = asyncio.create_task(bench.pipeline.call(call("local.write", text="a")))
            while not person.asked:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert bench.state.pending_signoffs() == ()
    assert not written


def test_a_link_that_moves_between_question_and_run_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "a")

    def drop(path: str) -> str:
        written.append(path)
        return "dropped"

    def move(request: SignoffRequest) -> SignoffDecision:
        assert request.action.resolved == {"path": str((tmp_path / "a").resolve())}
        link.unlink()
        link.symlink_to(tmp_path / "b")
        return SignoffDecision(answer="once", digest=request.digest, by="ann")

    skill = host_skill(drop, effect="write", targets={"path": "path"})
    with Bench(tmp_path, skill, approver=Strange(move)) as bench:
        result = bench.call("local.drop", path=str(link))
        assert result.status == "denied" and "changed" in result.text and not written
        bench.pipeline._around.approver.answer = lambda r: SignoffDecision(  # type: ignore[union-attr]
            answer="once", digest=r.digest, by="ann"
        )
        assert bench.call("local.drop", path=str(link)).status == "ok"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def good(tmp_path: Path, sandbox: Sandbox) -> dict[str, Skill]:
    rights = Rights(write=(f"{tmp_path}/workspace/out/**",))
    return pack_skills(sandbox, tmp_path, "good", rights=rights)


def test_what_cannot_run_is_not_asked(tmp_path: Path, sandbox: Sandbox, good: dict[str, Skill]) -> None:
    person = Person()
    strict = replace(good["order"], effect="write", after=None)
    with Bench(tmp_path, strict, good["save"], sandbox=sandbox, approver=person) as bench:
        bad = bench.call("good.order", items=[{"sku": "a", "price": "cheap"}], due="2026-01-31")
        assert bad.status == "invalid" and person.asked == []
        assert bench.call("good.save", path="a.txt", text="hi").status == "ok"
    assert len(person.asked) == 1
    assert (tmp_path / "workspace/out/a.txt").read_text() == "hi"


def test_the_question_is_converted_without_rights(tmp_path: Path, sandbox: Sandbox, good: dict[str, Skill]) -> None:
    bench = Bench(tmp_path, good["save"], sandbox=sandbox, approver=Person("deny"))
    with bench, counted_cells(sandbox) as started:
        assert bench.call("good.save", path="a.txt", text="hi").status == "denied"
    assert [spec.rights.write for spec in started] == [()]
    assert not (tmp_path / "workspace/out/a.txt").exists()


def test_what_the_user_named_is_settled_and_recorded_with_its_origin(tmp_path: Path) -> None:
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to}"

    skill = replace(host_skill(send), effect="external", targets={"to": "address"})
    ledger = Ledger()
    ledger.hear("Write to ann@acme.example")
    with Bench(tmp_path, skill, defaults={"provenance": "targets"}, unattended="deny") as bench:
        named = bench.text(skill.full, '{"to": "ann@acme.example"}', ledger=ledger)
        assert named.decision is not None
        assert (named.status, named.decision.source) == ("ok", "provenance")
        assert bench.text(skill.full, '{"to": "bob@acme.example"}', ledger=ledger).status == "denied"
        assert bench.text(skill.full, '{"to": "ann@acme.example"}').status == "denied"
        decided = next(bench.state.records(event="call.decided"))
        assert decided.body["origins"] == [["to", "your own words"]]
