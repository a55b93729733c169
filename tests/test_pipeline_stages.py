"""Resolve, validate, decide, cache, follow-ups, read-only mode, records, faults of the host."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import EnforcementError, StateError
from remit.pipeline.events import PipelineEvent
from remit.pipeline.redact import HIDDEN
from remit.skills import Skill
from remit_sandbox import CellSpec, Sandbox
from tests.pipeline_parts import Bench, Person, call, host_skill, pack_skills

made: list[Any] = []


def note(text: str, secret: str = "") -> str:
    """Note."""
    made.append(text)
    return text


def look(text: str = "") -> int:
    """Look."""
    made.append(text)
    return len(made)


NOTE = host_skill(note, effect="write")
LOOK = host_skill(look)


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    made.clear()


def test_an_unknown_skill_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with Bench(tmp_path, LOOK) as bench:
        result = bench.call("local.lok")
        assert result.status == "invalid" and "Did you mean local.look?" in result.text
        assert "local__look" in bench.call("local__lok").text
        assert bench.call("\ud800" * 5_000).status == "invalid"
        assert bench.log() == ["call.proposed", "call.finished"] * 3


def test_read_only_mode_hides_and_refuses(tmp_path: Path) -> None:
    with Bench(tmp_path, LOOK, NOTE, read_only=True, approver=Person()) as bench:
        assert set(bench.pipeline.skills) == {"local.look", "remit.read_result"}
        result = bench.call("local.note", text="a")
        assert result.status == "denied" and "read-only mode" in result.text and not made
        assert result.decision is not None and result.decision.source == "read-only mode"
        unknown = bench.call("local.not")
        assert "local.note" not in unknown.text
        assert bench.call("local.look").status == "ok"


def test_arguments_that_do_not_fit_say_which(tmp_path: Path) -> None:
    with Bench(tmp_path, NOTE, approver=Person()) as bench:
        for text in ("{", "[]", '{"txt": "a"}', '{"text": 1, "x": 2}', ""):
            result = bench.text("local.note", text)
            assert result.status == "invalid" and "text" in result.text.casefold()
        assert not made and bench.text("local.note", '{"text": "a"}').status == "ok"


def test_a_mended_write_is_refused_and_a_mended_read_is_noted(tmp_path: Path) -> None:
    with Bench(tmp_path, NOTE, LOOK, approver=Person()) as bench:
        refused = bench.text("local.note", '{"text": "a"}', repaired=True)
        assert refused.status == "invalid" and "write it again" in refused.text and not made
        read = bench.text("local.look", '{"text": "a"}', repaired=True)
        assert read.status == "ok" and read.notes


def test_a_rule_refuses_with_its_reason(tmp_path: Path) -> None:
    rule = {
        "id": "no-b",
        "verdict": "deny",
        "match": {"skill": "local.look", "arguments": {"text": {"eq": "b"}}},
        "reason": "b is not wanted",
    }
    with Bench(tmp_path, LOOK, rules=[rule]) as bench:
        result = bench.call("local.look", text="b")
        assert result.status == "denied" and "b is not wanted" in result.text and not made
        assert result.decision is not None and result.decision.rules == ("no-b",)
        assert result.remedy not in result.text and "no-b" in result.remedy
        assert bench.call("local.look", text="a").status == "ok"


def test_secret_arguments_stay_out_of_every_record(tmp_path: Path) -> None:
    def tells(secret: str) -> None:
        raise ValueError(f"wrong: {secret}")

    hidden = frozenset({"secret"})
    skills = replace(NOTE, secret_arguments=hidden), host_skill(tells, secret_arguments=hidden)
    with Bench(tmp_path, *skills, approver=Person()) as bench:
        assert "hunter2!" in bench.call("local.tells", secret="hunter2!").text
        assert bench.call("local.note", text="a", secret="hunter2!").status == "ok"
        bench.text("local.note", '{"secret": "hunter2!", "text": 1}')
        bench.text("local.note", '{"secret": "hunter2!"')
        for record in bench.state.records():
            assert "hunter2!" not in json.dumps(record.body), record.event


def test_arguments_of_a_skill_that_is_not_there_leave_their_names_only(tmp_path: Path) -> None:
    with Bench(tmp_path, LOOK) as bench:
        for written in ('{"to": "a@b.c", "text": "TOPSECRET"}', '{"text": "TOPSECRET"', '"TOPSECRET"'):
            assert bench.text("mailer.send", written).status == "invalid"
        proposed = [record.body["arguments"] for record in bench.state.records(event="call.proposed")]
        assert proposed == [{"to": HIDDEN, "text": HIDDEN}, HIDDEN, HIDDEN]
        for record in bench.state.records():
            assert "TOPSECRET" not in json.dumps(record.body), record.event


def test_the_same_read_comes_from_the_cache(tmp_path: Path) -> None:
    skill = replace(LOOK, cache=60.0, idempotent=True, hash="h", labels=frozenset({"private"}))
    with Bench(tmp_path, skill) as bench:
        first, second = bench.call("local.look"), bench.call("local.look", "t")
        assert (first.value, second.value) == (1, 1) and second.cached and not first.cached
        assert second.labels == {"private"}
        assert bench.call("local.look", text="other").value == 2
        assert bench.log("call.started") == ["call.started"] * 2
    with Bench(tmp_path, skill, principal="somebody else") as bench:
        assert bench.call("local.look").value == 3
    with Bench(tmp_path, replace(skill, hash="changed")) as bench:
        assert bench.call("local.look").value == 4


def test_only_successes_of_repeatable_reads_are_cached(tmp_path: Path) -> None:
    def breaks() -> None:
        made.append("")
        raise ValueError("no")

    kept = {"cache": 60.0, "idempotent": True, "hash": "h"}
    skills = (
        host_skill(breaks, **kept),
        replace(LOOK, cache=60.0, hash="h"),
        replace(NOTE, **kept),  # type: ignore[arg-type]
    )
    with Bench(tmp_path, *skills, approver=Person()) as bench:
        for name, arguments in (("breaks", {}), ("look", {}), ("note", {"text": "a"})):
            assert not any(bench.call(f"local.{name}", **arguments).cached for _ in range(2))
    assert len(made) == 6


def test_a_policy_that_changed_is_asked_before_the_cache(tmp_path: Path) -> None:
    skill = replace(LOOK, cache=60.0, idempotent=True, hash="h")
    with Bench(tmp_path, skill) as bench:
        assert bench.call("local.look").status == "ok"
    with Bench(tmp_path, skill, defaults={"read": "deny"}) as bench:
        assert bench.call("local.look").status == "denied"


def chain(wanted: list[str], ctx) -> str:  # type: ignore[no-untyped-def]
    """Ask for further calls."""
    for name in wanted:
        ctx.follow_up(name)
    return "asked"


def again(ctx) -> str:  # type: ignore[no-untyped-def]
    """Ask for itself."""
    made.append("again")
    ctx.follow_up("local.again")
    return "again"


def test_follow_ups_stay_in_the_pack_and_one_level_deep(tmp_path: Path) -> None:
    other = replace(LOOK, pack="other")
    skills = (host_skill(chain), host_skill(again), LOOK, NOTE, other)
    with Bench(tmp_path, *skills, unattended="deny") as bench:
        result = bench.call("local.chain", wanted=["look", "other.look", "note"])
        assert [one.status for one in result.follow_ups] == ["ok", "denied", "invalid"]
        assert "own skills only" in result.follow_ups[1].text and "denied" in result.text
        nested = bench.call("local.again")
        assert len(nested.follow_ups) == 1 and nested.follow_ups[0].follow_ups == ()
        assert nested.follow_ups[0].notes and made.count("again") == 2
        assert bench.call("local.chain", wanted=["look"] * 4).status == "failed"


def test_a_follow_up_that_writes_is_asked_about(tmp_path: Path) -> None:
    def record(ctx) -> str:  # type: ignore[no-untyped-def]
        ctx.follow_up("local.note", text="from the pack")
        return "done"

    person = Person("deny")
    with Bench(tmp_path, host_skill(record), NOTE, approver=person) as bench:
        result = bench.call("local.record")
    assert result.status == "ok" and result.follow_ups[0].status == "denied" and not made
    assert person.asked[0].asked_by == "pack"


def test_a_timeout_of_a_host_function_does_not_hold_the_program(tmp_path: Path) -> None:
    over = threading.Event()

    def sleep() -> None:
        over.wait()

    async def wait() -> None:
        await asyncio.Event().wait()

    with Bench(tmp_path, host_skill(sleep, timeout=0.1), host_skill(wait, timeout=0.1), LOOK) as bench:
        assert bench.call("local.sleep").status == "timeout"
        assert bench.call("local.wait").status == "timeout"
        assert bench.call("local.look").status == "ok"
    over.set()


def test_nothing_runs_that_cannot_be_recorded(tmp_path: Path) -> None:
    with Bench(tmp_path, LOOK) as bench:
        assert bench.call("local.look").status == "ok"
        bench.state.database.read(lambda c: c.execute("PRAGMA query_only = 1").fetchone())
        with pytest.raises(StateError, match="may not be written"):
            bench.call("local.look")
        assert len(made) == 1
        bench.state.database.read(lambda c: c.execute("PRAGMA query_only = 0").fetchone())
        assert bench.call("local.look").status == "ok"


def test_a_listener_that_raises_does_not_lose_the_call(tmp_path: Path) -> None:
    with Bench(tmp_path, LOOK) as bench:

        def listen(event: PipelineEvent) -> None:
            raise BrokenPipeError(event.kind)

        object.__setattr__(bench.pipeline._around, "on_event", listen)
        with pytest.raises(BrokenPipeError):
            bench.call("local.look")
        assert bench.log()[-1] == "call.finished" and len(made) == 1


def test_writes_of_one_step_run_in_order(tmp_path: Path) -> None:
    with Bench(tmp_path, NOTE, LOOK, approver=Person()) as bench:
        calls = [call("local.note", text="1"), call("local.look", text="2"), call("local.note", text="3")]
        results = bench.many(*calls)
        assert made == ["1", "2", "3"]
        assert [result.call for result in results] == [one.id for one in calls]
        assert bench.many() == ()


def test_reads_of_one_step_run_at_the_same_time(tmp_path: Path) -> None:
    gate = asyncio.Barrier(3)

    async def meet() -> str:
        await gate.wait()
        return "met"

    with Bench(tmp_path, host_skill(meet, timeout=10.0)) as bench:
        assert [result.text for result in bench.many(*(call("local.meet") for _ in range(3)))] == ["met"] * 3


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def test_a_machine_that_cannot_confine_stops_the_run(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit_sandbox import CannotConfine

    skills = pack_skills(sandbox, tmp_path, "good")
    cell = skills["add"].cell
    assert cell is not None
    strict: Skill = replace(skills["add"], cell=replace(cell, enforcement="kernel"))

    def refuse(spec: CellSpec, client: object, **_: object) -> None:
        raise CannotConfine(("files: no Landlock",))

    with Bench(tmp_path, strict, sandbox=sandbox) as bench:
        with monkeypatch.context() as patch:
            patch.setattr(sandbox, "_new_cell", refuse)
            with pytest.raises(EnforcementError, match="no Landlock") as caught:
                bench.call("good.add", a=1)
        assert "remit doctor" in caught.value.remedy and "call.started" not in bench.log()


def test_a_skill_without_a_sandbox_is_a_failed_call(tmp_path: Path, sandbox: Sandbox) -> None:
    skills = pack_skills(sandbox, tmp_path, "good")
    with Bench(tmp_path, skills["add"]) as bench:
        assert bench.call("good.add", a=1).status == "failed"


def test_errors_of_host_functions_name_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def opens() -> str:
        return (tmp_path / "missing.txt").read_text()

    with Bench(tmp_path, host_skill(opens)) as bench:
        result = bench.call("local.opens")
    assert result.status == "failed" and "missing.txt" in result.text and str(tmp_path) not in result.text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    name=st.sampled_from(["local.look", "local__look", "local.note", "remit.read_result"]) | st.text(max_size=20),
    arguments=st.text(max_size=40)
    | st.sampled_from(['{"text": "a"}', "null", '{"text": "\\ud800"}', '{"handle": "r-1", "page": 1e2}', "[" * 5_000]),
    repaired=st.booleans(),
)
def test_no_call_of_a_model_raises(tmp_path: Path, name: str, arguments: str, repaired: bool) -> None:
    with Bench(tmp_path, LOOK, NOTE, unattended="deny") as bench:
        result = bench.text(name, arguments, repaired=repaired)
        assert result.text.strip() and len(result.text) <= 2_000
        assert result.status in ("ok", "invalid", "denied", "failed")
        assert bench.log()[-1] == "call.finished"
