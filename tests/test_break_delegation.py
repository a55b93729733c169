"""Attacks on delegation: what a child must not get, and what must not happen twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit import Agent
from remit.delegation.child import child_session
from remit.deployment.trust import trust
from remit.models.scripted import ask
from tests.delegation_parts import Cast, bot, give, last, spec
from tests.in_process import remit
from tests.pipeline_parts import Person
from tests.test_delegation_resume import DONE, answer, folder, note, speaker, write
from tests.test_pipeline_signoff_edit import Editor

__all__ = ["folder"]

FIRST_CALL = "c00000001"


def parked(folder: Path, session: str = "s1", task: str = "do it") -> str:
    """A task that looked, and then waits for a sign-off; the id of its session."""
    with speaker(folder, Cast(top=[give("writer", task)], writer=[ask("local.look"), write()])) as a:
        assert a.run("go", session=session).status == "parked"
        (child,) = a.state.children_of(session)
    return child.id


def again() -> Cast:
    """What a task does that is begun anew."""
    return Cast(top=[lambda r: f"top: {last(r)}"], writer=[ask("local.look"), write(), last])


def test_a_session_that_somebody_made_beforehand_is_neither_taken_over_nor_written_over(folder: Path) -> None:
    guessed = child_session("s1", FIRST_CALL)
    with speaker(folder, Cast(top=["hello"])) as a:
        a.run("precious words", session=guessed)
    with speaker(folder, Cast(top=[give("writer"), last], writer=[write()])) as a:
        result = a.run("go", session="s1")
        saved = a.state.load_session(guessed)
    assert (result.status, result.calls[0].status) == ("answered", "failed")
    assert "belongs to somebody else" in result.answer and DONE == []
    assert saved is not None and saved.transcript[0]["content"] == "precious words"


def test_control_nobody_made_it_beforehand(folder: Path) -> None:
    assert parked(folder) == child_session("s1", FIRST_CALL) and DONE == ["looked"]


def test_a_copy_of_a_parked_session_does_not_do_the_task_again(folder: Path) -> None:
    parked(folder)
    remit("sessions", "fork", "s1", "f1", folder=folder)
    with speaker(folder, again()) as a:
        result = a.resume("f1")
        assert result.status == "answered" and "It may have taken effect" in result.answer
        assert a.state.children_of("f1") == ()
    assert DONE == ["looked"]


def test_a_task_cannot_be_copied_out_of_its_chain(folder: Path) -> None:
    """The copy would be nobody's task: it would go on with the rights of the agent that a person asks."""
    child = parked(folder)
    told = remit("sessions", "fork", child, "f1", folder=folder, expect=2)
    assert "a task that an agent gave in session s1" in told.err


def test_a_task_whose_session_was_deleted_is_lost_and_not_done_again(folder: Path) -> None:
    child = parked(folder)
    remit("sessions", "delete", child, "--yes", folder=folder)
    with speaker(folder, again()) as a:
        result = a.resume("s1")
    assert "It may have taken effect" in result.answer and DONE == ["looked"]


def test_a_task_with_a_secret_in_it_is_gone_on_with_and_not_begun_anew(folder: Path) -> None:
    """The stored transcript has a mark where the card number was."""
    child = parked(folder, task="pay with 4111 1111 1111 1111")
    answer(folder)
    with speaker(folder, Cast(top=[last], writer=["paid"])) as a:
        result = a.resume("s1")
        assert [one.id for one in a.state.children_of("s1")] == [child]
    assert result.answer == "paid" and DONE == ["looked", "one"]


def test_what_a_person_refused_one_agent_no_other_asks_for_again() -> None:
    person = Person("deny")
    agents = [spec("a"), spec("b")]
    cast = Cast(top=[give("a"), give("b"), write(), "end"], a=[write(), "no"], b=[write(), "no"])
    with bot(cast, note, agents=agents, approver=person) as agent:
        result = agent.run("go")
        assert result.calls[-1].status == "denied" and len(person.asked) == 1
        assert agent.run("something else", session=None).status == "answered"


def test_control_another_action_is_asked_about() -> None:
    person = Person("deny")
    cast = Cast(top=[give("a"), give("b"), "end"], a=[write(), "no"], b=[write("two"), "no"])
    with bot(cast, note, agents=[spec("a"), spec("b")], approver=person) as agent:
        agent.run("go")
    assert len(person.asked) == 2


def test_what_a_person_allowed_one_agent_for_its_session_no_other_has() -> None:
    person = Person("session")
    cast = Cast(top=[write(), give("a"), "end"], a=[write(), "done"])
    with bot(cast, note, agents=[spec("a")], approver=person) as agent:
        agent.run("go")
    assert len(person.asked) == 2


def test_a_task_that_a_person_edited_is_gone_on_with_as_edited(folder: Path) -> None:
    rules = ""
    for name, verdict, about in (("a", "ask", "remit.delegate"), ("b", "ask-apart", "local.note")):
        rules += f'\n[[rule]]\nid = "{name}"\nverdict = "{verdict}"\nmatch = {{ skill = "{about}" }}\n'
    config = folder / "remit.toml"
    config.write_text(config.read_text() + rules)
    trust(folder)
    person = Editor('{"agent": "writer", "task": "edited"}')
    cast = Cast(top=[give("chief", "original")], writer=[ask("local.look"), write()])
    with speaker(folder, cast, approver=person) as a:
        assert a.run("go", session="s1").status == "parked" and DONE == ["looked"]
    answer(folder)
    with speaker(folder, Cast(top=[last], writer=[last]), approver=Person("once")) as a:
        assert a.resume("s1").answer == "noted one"
        (child,) = a.state.children_of("s1")
    assert child.transcript[0]["content"] == "edited" and DONE == ["looked", "one"]


def test_an_agent_with_a_model_of_its_own_name_is_asked_where_the_program_says() -> None:
    """Not at the standard endpoint: what the program keeps on its machine stays there."""
    base = "http://127.0.0.1:9/v1"
    for model, url in (("small", base), (None, base)):
        with Agent(model="big", base_url=base, agents=[spec("a", model=model)]) as agent:
            own = agent._team.member(("a", "assistant")).speakers[0].model
            assert own.name == (model or "big") and own.url.startswith(url)  # type: ignore[attr-defined]


@pytest.mark.parametrize("verdict", ["deny", "ask", "allow"])
def test_nobody_does_through_another_agent_what_it_may_not_do(folder: Path, verdict: str) -> None:
    """A rule about `chief` holds for `writer` where chief asked it, unless it allows something."""
    config = folder / "remit.toml"
    rule = f'\n[[rule]]\nid = "r"\nverdict = "{verdict}"\nmatch = {{ skill = "local.note" }}\n'
    text = config.read_text().replace("[defaults]", "[defaults]\nallow_yes = true", 1)
    config.write_text(f'{text}{rule}when = {{ agent = ["chief"] }}\n')
    trust(folder)
    expected = {"deny": "denied", "ask": "parked", "allow": "ok"}[verdict]
    for through in (True, False):
        scripts = {"top": [give("chief"), last], "chief": [give("writer"), last]}
        if not through:
            scripts = {"top": [give("writer"), last]}
        with speaker(folder, Cast(**scripts, writer=[write(), last]), yes_to_writes=True) as a:
            a.run("go")
            statuses = [one.body["status"] for one in a.state.records(event="call.finished", skill="local.note")]
        assert statuses[-1] == (expected if through else "ok")
    told = remit("policy", "explain", "local.note", '{"text": "x"}', "--agent", "writer", folder=folder, expect=None)
    assert "no skill local.note" in told.err  # a function of the program: the command line does not know it


def test_what_was_refused_while_it_waited_no_other_agent_asks_for_again(folder: Path) -> None:
    parked(folder)
    answer(folder, "deny")
    cast = Cast(top=[give("chief"), last], writer=["no"], chief=[write(), last])
    with speaker(folder, cast) as a:
        result = a.resume("s1")
        assert result.status == "answered" and "refused" in result.answer
        assert len(a.state.signoffs(everything=True)) == 1
