"""Handlers in real cells: whatever they do, the call has a clear result and the next call works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.skills import Skill
from remit_sandbox import Sandbox
from tests.pipeline_parts import Bench, pack_skills


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs")


@pytest.fixture(scope="module")
def good(sandbox: Sandbox, folder: Path) -> dict[str, Skill]:
    return pack_skills(sandbox, folder / "good", "good")


@pytest.fixture
def bench(tmp_path: Path, sandbox: Sandbox, good: dict[str, Skill]) -> Iterator[Bench]:
    with Bench(tmp_path, *good.values(), sandbox=sandbox) as bench:
        yield bench


@pytest.fixture(scope="module")
def bad(sandbox: Sandbox, folder: Path) -> list[Skill]:
    slow = pack_skills(sandbox, folder / "slow", "slow")
    hostile = pack_skills(sandbox, folder / "hostile", "hostile")
    return [*slow.values(), *hostile.values()]


@pytest.fixture
def rough(tmp_path: Path, sandbox: Sandbox, bad: list[Skill]) -> Iterator[Bench]:
    with Bench(tmp_path, *bad, sandbox=sandbox) as bench:
        yield bench


def test_a_call_runs_and_leaves_its_records(bench: Bench) -> None:
    result = bench.call("good.add", a=1.5, b=2)
    assert (result.status, result.value, result.text) == ("ok", 3.5, "3.5")
    assert result.enforcement and result.labels == {"untrusted"} and result.duration > 0
    assert bench.log("call.") == ["call.proposed", "call.decided", "call.started", "call.finished"]


def test_the_wire_name_is_the_same_skill(bench: Bench) -> None:
    assert bench.call("good__greet", name="Ann").text == "Hello, Ann"


def test_progress_is_told_while_it_runs(bench: Bench) -> None:
    assert bench.call("good.steps", count=2).value == 2
    told = [(event.kind, event.text) for event in bench.events]
    assert told[2:5] == [("started", ""), ("progress", "step 1"), ("progress", "step 2")]


def test_an_error_is_told_without_its_traceback(bench: Bench) -> None:
    result = bench.call("good.breaks", message="out of milk")
    assert result.status == "failed" and "out of milk" in result.text
    assert "Traceback" not in result.text and "skills.py" not in result.text
    assert "breaks" in result.traceback


@pytest.mark.parametrize("skill", ["sleep", "spin", "stubborn"])
def test_a_handler_that_hangs_is_stopped(rough: Bench, skill: str) -> None:
    result = rough.call(f"slow.{skill}", seconds=3_600)
    assert result.status == "timeout" and "1 seconds" in result.text
    assert rough.call("slow.patient", steps=1).status == "ok"


@pytest.mark.parametrize("how", ["exit", "_exit", "interrupt", "generator_exit", "base", "segv", "recurse"])
def test_a_handler_that_leaves_is_a_failed_call(rough: Bench, how: str) -> None:
    result = rough.call("hostile.leave", how=how)
    assert result.status == "failed" and result.text
    assert rough.call("hostile.leave", how="stay").text == "stayed"


@pytest.mark.parametrize("kind", ["nan", "infinity", "object", "endless", "deep", "keys", "int", "large"])
def test_a_result_that_is_no_json_is_a_failed_call(rough: Bench, kind: str) -> None:
    result = rough.call("hostile.odd", kind=kind)
    assert result.status == "failed" and " at 0x" not in result.text
    assert rough.call("hostile.leave", how="stay").status == "ok"


def test_a_handler_that_prints_100_mb_is_read_to_its_end(rough: Bench) -> None:
    assert rough.call("hostile.flood", megabytes=100).text == "flooded"
    printed = sum(len(event.text) for event in rough.events if event.kind == "output")
    assert 0 < printed < 5_000_000


@pytest.mark.parametrize("skill", ["forge", "garbage", "replace_streams"])
def test_a_forged_answer_is_no_answer(rough: Bench, skill: str) -> None:
    result = rough.call(f"hostile.{skill}")
    assert (result.status, result.text) in (("ok", "real"), ("ok", "replaced")) or result.status == "failed"
    assert "forged" not in result.text
    assert rough.call("hostile.leave", how="stay").status == "ok"


def test_errors_are_short_and_one_line(rough: Bench) -> None:
    for kind in ("evil", "long", "lines", "group"):
        result = rough.call("hostile.raises", kind=kind)
        assert result.status == "failed" and len(result.text) < 2_000


def test_a_pack_that_raises_at_import_is_a_failed_call(
    tmp_path: Path, sandbox: Sandbox, good: dict[str, Skill]
) -> None:
    from dataclasses import replace

    add = good["add"]
    assert add.cell is not None
    broken = replace(add, name="broken", cell=replace(add.cell, package="remit_nothing"))
    with Bench(tmp_path, add, broken, sandbox=sandbox) as bench:
        result = bench.call("good.broken", a=1)
        assert result.status == "failed" and "did not start" in result.text and result.remedy
        assert "call.started" not in bench.log()
        assert bench.call("good.add", a=1).status == "ok"


def test_arguments_that_the_handler_cannot_take_are_invalid(bench: Bench) -> None:
    result = bench.call("good.order", items=[{"sku": "a", "price": "x"}], due="2026-01-31")
    assert result.status == "invalid" and "price" in result.text


def test_a_post_hook_sees_call_and_result(bench: Bench) -> None:
    result = bench.call("good.order", items=[{"sku": "a", "price": "1.5"}], due="2026-01-31", speed="fast")
    assert result.value == {"amount": "1.5", "items": 1, "due": "2026-01-31", "speed": "fast"}
    assert "call.hooked" in bench.log()


def test_follow_ups_go_through_the_pipeline(bench: Bench) -> None:
    result = bench.call("good.chain", first=3)
    assert [one.value for one in result.follow_ups] == [4, 5]
    assert "follow-up good.add: ok" in result.text
    parents = [record.body["parent"] for record in bench.state.records(event="call.proposed")]
    assert parents == [None, result.call, result.call]


def test_calls_that_only_read_run_together_and_come_in_order(bench: Bench) -> None:
    from tests.pipeline_parts import call

    results = bench.many(*(call("good.add", a=n) for n in range(12)))
    assert [result.value for result in results] == list(range(12))


def test_cancelling_kills_the_cell_and_is_recorded(rough: Bench) -> None:
    import asyncio

    from tests.pipeline_parts import call

    async def main() -> None:
        task = asyncio.create_task(rough.pipeline.call(call("slow.patient", steps=1000)))
        while not any(event.kind == "progress" for event in rough.events):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await rough.pipeline.call(call("slow.patient", steps=1))).status == "ok"

    asyncio.run(main())
    assert [r.body["status"] for r in rough.state.records(event="call.finished")] == ["cancelled", "ok"]


def test_what_a_cell_prints_is_asked_for_only_where_somebody_hears_it(rough: Bench) -> None:
    for watched in (True, False):
        rough.events.clear()
        assert rough.text("hostile.flood", '{"megabytes": 1}', watched=watched).text == "flooded"
        assert ("output" in {event.kind for event in rough.events}) == watched


def test_follow_ups_are_heard_as_the_call_that_asked_for_them(bench: Bench) -> None:
    for watched in (True, False):
        bench.events.clear()
        assert bench.text("good.chain", '{"first": 3}', watched=watched).follow_ups
        assert {event.call.watched for event in bench.events} == {watched}
