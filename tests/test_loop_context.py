"""What fits into a context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit.loop.context import Rounds, fit
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


@given(TURNS, st.integers(0, 1000))
def test_what_goes_is_the_oldest_and_no_more_than_must(turns: list[tuple[str, int]], budget: int) -> None:
    messages = conversation(turns)
    fitted = fit(messages, budget)
    assert fitted.tokens == sum(map(tokens, fitted.messages))
    rounds = Rounds.of(messages)
    whole = fitted.left_out == 0
    assert whole == (sum(map(tokens, messages)) <= budget or rounds.end == 0 or _only_pinned(rounds))
    kept = [m for m in fitted.messages if m in messages]
    first = next((n for n, group in enumerate(rounds.groups) if n != rounds.latest and group[0] in kept), rounds.end)
    for number, group in enumerate(rounds.groups):
        stays = number >= first or number == rounds.latest
        assert all((message in kept) == stays for message in group), "a prefix of whole rounds, but for the question"
    if not whole and first < rounds.end:
        gone = max(number for number in range(first) if not rounds.stays(number))
        more = sum(map(tokens, rounds.shown_from(gone)))
        assert more + tokens(fitted.messages[0]) + 2 > budget, "one round less would not have been enough"


def _only_pinned(rounds: Rounds) -> bool:
    """Nothing can go: what comes before the last round is the person's latest message alone."""
    return rounds.end == 1 and rounds.latest == 0


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
