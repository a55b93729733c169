"""What fits into a context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit.loop.context import fit
from remit.loop.transcript import Transcript
from remit.models.estimate import tokens
from remit.models.protocol import Message, ToolCall
from tests.loop_parts import lawful

TURNS = st.lists(st.tuples(st.sampled_from(["question", "note", "calls", "answer"]), st.integers(0, 300)), max_size=25)


def conversation(turns: list[tuple[str, int]]) -> tuple[Message, ...]:
    transcript = Transcript()
    for number, (kind, size) in enumerate(turns):
        text = str(number) + "x" * size
        if kind == "question":
            transcript.question(text)
        elif kind == "note":
            transcript.note(text)
        elif kind == "answer":
            transcript.reply(text)
        else:
            transcript.reply(text[:2], [ToolCall(name="t__x")] * 2)
            transcript.close(text, status="ok")
    return transcript.messages


@given(TURNS, st.integers(0, 1000))
def test_a_budget_breaks_no_law(turns: list[tuple[str, int]], budget: int) -> None:
    messages = conversation(turns)
    fitted = fit(messages, budget)
    lawful(fitted.messages)
    shown = [m for m in fitted.messages if m in messages]
    assert [m for m in messages if m in shown] == shown
    assert fitted.left_out + len(fitted.messages) - (1 if fitted.left_out else 0) == len(messages)
    questions = [m for m in messages if m.origin == "person"]
    assert not questions or questions[-1] in fitted.messages
    if messages:
        assert messages[-1] in fitted.messages


def test_the_oldest_round_goes_first() -> None:
    messages = conversation([("question", 9), ("calls", 900), ("answer", 9), ("question", 9), ("calls", 9)])
    total = sum(map(tokens, messages))
    assert fit(messages, None).messages == messages
    assert fit(messages, total).left_out == 0
    fitted = fit(messages, total - 50)
    assert fitted.left_out == 4
    assert fitted.messages[0].origin == "loop"
    assert fitted.messages[1:] == messages[4:]


def test_the_latest_question_stays_while_its_own_rounds_go() -> None:
    messages = conversation([("question", 9), ("calls", 600), ("calls", 600), ("calls", 9)])
    fitted = fit(messages, 200)
    assert [m.origin for m in fitted.messages] == ["loop", "person", "model", "skill", "skill"]
