"""Two sessions, or two processes, at one fact: none overwrites the other unseen."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.config import MemoryConfig
from remit.errors import UsageError
from remit.memory.fact import Fact, Origin
from remit.memory.kept import StateFacts
from remit.memory.memory import Memory
from remit.models.scripted import ask
from remit.pipeline.redact import Redactor
from remit.state.store import State
from tests.memory_parts import agent, remembering_place

PERSON = Origin(by="person", own_words=True)


@pytest.fixture
def states(tmp_path: Path) -> Iterator[tuple[State, State]]:
    """Two connections to one file, as two processes have them."""
    with State(tmp_path) as one, State(tmp_path) as two:
        yield one, two


def memory(state: State, store: Any = None) -> Memory:
    config = MemoryConfig(facts=True)
    return Memory(store or StateFacts(state), config=config, state=state, redactor=Redactor(), who="ada")


class Late(StateFacts):
    """A store in which somebody else writes between the look and the write."""

    def __init__(self, state: State, meanwhile: Any) -> None:
        super().__init__(state)
        self._meanwhile = meanwhile

    def facts(self, who: str) -> Any:
        found = super().facts(who)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


class LastOneCounts:
    """The control: a store that only puts and forgets."""

    def __init__(self, store: StateFacts) -> None:
        self.facts, self.put, self.forget = store.facts, store.put, store.forget


@pytest.mark.parametrize("compares", [True, False])
@pytest.mark.parametrize("there", [True, False])
def test_what_somebody_wrote_at_the_same_moment_is_not_overwritten(
    states: tuple[State, State], there: bool, compares: bool
) -> None:
    one, two = states
    if there:
        memory(one).remember("city", "Oslo", origin=PERSON)
    late: Any = Late(one, lambda: memory(two).remember("city", "Bergen", origin=PERSON))
    slow = memory(one, late if compares else LastOneCounts(late))
    if not compares:
        slow.remember("city", "Rome", origin=PERSON)
        assert memory(two).facts()[0].value == "Rome"
        return
    with pytest.raises(UsageError, match="city was changed at the same moment"):
        slow.remember("city", "Rome", origin=PERSON)
    assert memory(two).facts()[0].value == "Bergen"
    assert [record.event for record in one.records(event="memory.")][-1] == "memory.failed"
    assert slow.remember("city", "Rome", origin=PERSON).value == "Rome"


def test_what_somebody_wrote_at_the_same_moment_is_not_forgotten(states: tuple[State, State]) -> None:
    one, two = states
    memory(one).remember("city", "Oslo", origin=PERSON)
    slow = memory(one, Late(one, lambda: memory(two).remember("city", "Bergen", origin=PERSON)))
    with pytest.raises(UsageError, match="at the same moment"):
        slow.forget("city", origin=PERSON)
    assert memory(two).facts()[0].value == "Bergen"
    gone = memory(one, Late(one, lambda: memory(two).forget("city", origin=PERSON)))
    assert gone.forget("city", origin=PERSON) is not None and memory(two).facts() == ()


def test_of_many_at_once_each_one_that_wrote_was_seen_by_the_next(states: tuple[State, State]) -> None:
    """A counter that each adds one to: what was told to be written is there."""
    memory(states[0]).remember("count", 0, origin=PERSON)
    wrote: list[int] = []

    def add(state: State) -> None:
        store = StateFacts(state)
        for _ in range(15):
            (before,) = store.facts("ada")
            after = Fact(name="count", kind="number", value=int(str(before.value)) + 1, updated=before.updated + 1)
            if store.replace("ada", after, before=before):
                wrote.append(1)

    threads = [threading.Thread(target=add, args=(state,)) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory(states[0]).facts()[0].value == len(wrote) > 0


def test_a_session_is_told_once_of_what_was_changed_since_it_began(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    home = [ask("remit.remember_fact", name="city", value=where) for where in ("Oslo", "Rome", "Rome", "Paris")]
    with agent(place, [home[0], "Kept.", "Hello.", home[1], "Hm.", home[2], "Kept.", home[3], "Kept."]) as made:
        made.run("My city is Oslo.")
        made.run("Hello", session="second")
        made._memory.remember("city", "Bergen", origin=PERSON)  # type: ignore[union-attr]
        told = made.run("Rome is my city.", session="second").calls[0]
        assert (
            told.status == "failed"
            and "changed elsewhere since this conversation began: it is 'Bergen' now" in told.text
        )
        assert made._memory.facts()[0].value == "Bergen"  # type: ignore[union-attr]
        assert made.run("Yes, Rome is my city.", session="second").calls[0].status == "ok"
        assert made.run("No, my city is Paris.", session="second").calls[0].status == "ok"
        assert [record.session for record in made.state.records(event="memory.meanwhile")] == ["second"]


def test_a_labelled_value_is_not_told(states: tuple[State, State]) -> None:
    one, _ = states
    one.append("run.started", session="s")
    memory(one).remember("city", "evil@x.example", origin=Origin(by="model", session="t"), labels={"untrusted"})
    with pytest.raises(UsageError, match=r"since this conversation began\. Nothing was done") as refused:
        memory(one).remember("city", "Oslo", origin=Origin(by="model", session="s"))
    assert "evil" not in refused.value.message


def test_a_session_is_told_once_also_where_another_clock_is_ahead(states: tuple[State, State]) -> None:
    one, _ = states
    one.append("run.started", session="s")
    StateFacts(one).put("ada", Fact(name="city", kind="text", value="Rome", updated=time.time() + 3_600))
    for told in (True, False):
        with pytest.raises(UsageError, match="changed elsewhere") if told else nullcontext():
            memory(one).remember("city", "Oslo", origin=Origin(by="model", session="s"))
    assert memory(one).facts()[0].value == "Oslo"
