"""`remit kill`: what is switched off does not start, what runs is ended, and doubt means off."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.errors import StateError
from remit.skills import Skill
from remit.state.switches import EVERYTHING, Switches, off_now
from remit_sandbox import Sandbox
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person, host_skill, pack_skills
from tests.sandbox_parts import eventually


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def note(text: str) -> str:
    """Note something."""
    return text


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, host_skill(add), host_skill(note)) as bench:
        yield bench


def switch(bench: Bench, name: str, reason: str = "") -> None:
    """Switch off as another process would: with a `Switches` of its own."""
    Switches(bench.state.folder).switch_off(off_now(name, reason=reason, who="ann"))


@pytest.mark.parametrize("name", ["local.add", "local", EVERYTHING])
def test_the_next_call_is_refused_with_the_reason_and_the_way_back(bench: Bench, name: str) -> None:
    assert bench.call("local.add", a=1, b=2).value == 3
    switch(bench, name, "it misbehaves")
    refused = bench.call("local.add", a=1, b=2)
    assert (refused.status, refused.decision and refused.decision.source) == ("denied", "remit kill")
    assert "switched off here: it misbehaves" in refused.text and "--restore" not in refused.text
    assert "--restore" in refused.remedy
    assert bench.log()[-3:] == ["call.proposed", "call.decided", "call.finished"]
    Switches(bench.state.folder).restore(name)
    assert bench.call("local.add", a=1, b=2).value == 3


def test_one_skill_leaves_the_others(bench: Bench) -> None:
    switch(bench, "local.add")
    assert bench.call("local.add", a=1, b=2).status == "denied"
    assert bench.call("local.note", text="x").status == "ok"
    assert bench.call("remit.read_result", handle="none").status != "denied"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"switches": 2, "off": []}', b'{"switches": 1, "off": [{}]}'])
def test_a_damaged_file_switches_everything_off(bench: Bench, content: bytes) -> None:
    switch(bench, "other")
    assert bench.call("local.add", a=1, b=2).status == "ok"
    (bench.state.folder / "switches.json").write_bytes(content)
    refused = bench.call("local.add", a=1, b=2)
    assert refused.status == "denied" and "cannot be read" in refused.text
    mine = Switches(bench.state.folder)
    with pytest.raises(StateError):
        mine.restore("other")
    assert mine.restore(EVERYTHING)
    assert bench.call("local.add", a=1, b=2).status == "ok"


def test_what_is_no_regular_file_switches_everything_off(bench: Bench) -> None:
    bench.call("local.add", a=1, b=2)
    (bench.state.folder / "switches.json").mkdir()
    assert bench.call("local.add", a=1, b=2).status == "denied"


def test_a_look_reads_the_file_only_when_it_changed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    switch(bench, "other")
    mine = Switches(bench.state.folder)
    assert mine.off("local", "add") is None
    monkeypatch.setattr("remit.state.switches._read", lambda path: pytest.fail("it was read again"))
    assert mine.off("other", "skill") is not None


def test_it_was_switched_off_while_a_person_was_asked(tmp_path: Path) -> None:
    class Slow(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            switch(mine, "local")
            return await super().ask(request)

    with Bench(tmp_path, host_skill(add, effect="write"), approver=Slow()) as mine:
        assert mine.call("local.add", a=1, b=2).status == "denied"
        assert "call.started" not in mine.log()


def test_the_state_is_private(bench: Bench) -> None:
    switch(bench, "other")
    assert os.stat(bench.state.folder / "switches.json").st_mode & 0o777 == 0o600


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, dict[str, Skill]]]:
    with Sandbox() as sandbox:
        yield sandbox, pack_skills(sandbox, tmp_path_factory.mktemp("slow"), "slow")


def switch_once_it_runs(bench: Bench, begun: int, name: str) -> None:
    if eventually(lambda: any(event.kind == "started" for event in bench.events[begun:])):
        switch(bench, name, "stuck")


def test_a_running_call_is_ended(tmp_path: Path, slow: tuple[Sandbox, dict[str, Skill]]) -> None:
    sandbox, skills = slow
    with Bench(tmp_path, *skills.values(), sandbox=sandbox) as bench:
        assert bench.call("slow.sleep", seconds=0.01).status == "ok"
        begun = len(bench.events)
        thread = threading.Thread(target=switch_once_it_runs, args=(bench, begun, "slow.sleep"))
        thread.start()
        ended = bench.call("slow.sleep", seconds=60)
        thread.join()
        assert ended.status == "cancelled" and "slow.sleep is switched off here: stuck" in ended.text
        assert bench.log()[-1] == "call.finished"
