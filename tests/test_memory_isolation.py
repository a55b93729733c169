"""Whatever is written and forgotten, each person's facts are theirs alone; and what is off costs nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.deployment.config import MemoryConfig
from remit.errors import UsageError
from remit.memory.fact import Origin
from remit.memory.kept import StateFacts
from remit.memory.memory import Memory
from remit.pipeline.redact import Redactor
from remit.state.store import State

PEOPLE = ("ada", "bob", "ada ", "", "%", "a_a")
TYPED = Origin(by="person", own_words=True)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(["city", "car", "a_b"]), st.one_of(st.none(), st.integers(0, 9))
    ),
    max_size=12,
)


def memory(state: State, who: str, *, most: int = 100) -> Memory:
    config = MemoryConfig(facts=True, most=most)
    return Memory(StateFacts(state), config=config, state=state, redactor=Redactor(), who=who)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[State]:
    with State(tmp_path_factory.mktemp("state")) as opened:
        yield opened


@given(steps=STEPS)
@settings(max_examples=20, deadline=None)
def test_nobody_sees_or_changes_what_is_somebody_elses(state: State, steps: list[tuple[str, str, int | None]]) -> None:
    expected: dict[str, dict[str, int]] = {who: {} for who in PEOPLE}
    for who in PEOPLE:
        for fact in memory(state, who).facts():
            memory(state, who).forget(fact.name, origin=TYPED)
    for who, name, value in steps:
        if value is None:
            memory(state, who).forget(name, origin=TYPED)
            expected[who].pop(name, None)
        else:
            memory(state, who).remember(name, value, origin=TYPED)
            expected[who][name] = value
    for who in PEOPLE:
        assert {fact.name: fact.value for fact in memory(state, who).facts()} == expected[who]


def test_two_at_a_time_never_find_more_room_than_there_is(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with State(tmp_path) as own:
        shared = memory(own, "ada", most=3)

        def write(number: int) -> bool:
            try:
                shared.remember(f"fact_{number}", number, origin=TYPED)
            except UsageError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(write, range(12))) == 3
        assert len(shared.facts()) == 3


def test_what_cannot_be_recorded_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.errors import StateError

    with State(tmp_path) as own:

        def broken(*_: object, **__: object) -> int:
            raise StateError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(own, "append", broken)
            with pytest.raises(StateError):
                memory(own, "ada").remember("city", "Oslo", origin=TYPED)
        assert memory(own, "ada").facts() == ()
        memory(own, "ada").remember("city", "Oslo", origin=TYPED)
        assert len(memory(own, "ada").facts()) == 1


def test_an_agent_that_remembers_nothing_imports_nothing_of_it() -> None:
    program = (
        "import sys\nfrom remit.agent import Agent\nfrom remit.models.scripted import ScriptedModel\n"
        "with Agent(model=ScriptedModel(['Hello.'])) as agent:\n    agent.run('Hello')\n"
        "print([name for name in sys.modules if name.startswith('remit.memory')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
