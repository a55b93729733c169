"""Text dialects through the loop: what the model is shown, and what its text means."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.errors import UsageError
from remit.loop.events import Event, TextDelta
from remit.loop.in_text import NO_SKILL, TextInterpreter
from remit.loop.native import NativeInterpreter
from remit.loop.wording import ANSWER_NOW, CALL_AGAIN
from remit.models.protocol import Message, ModelReply, ToolCall
from remit.models.scripted import ScriptedModel
from remit.skills import READ_RESULT, Skill
from tests.loop_parts import Functions, execute, lawful, new_run


def double(n: int) -> int:
    return 2 * n


def functions(**options: Any) -> Functions:
    made = Functions(double=double)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    made.skills = {name: replace(skill, schema=schema, **options) for name, skill in made.skills.items()}
    return made


def texts(request: Any) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in request.messages]


CALLS = {
    "tagged": '<call>{"name": "t__double", "arguments": {"n": 21}}</call>',
    "react": 'Thought: I compute.\nAction: t__double\nAction Input: {"n": 21}\n',
    "json": '```json\n{"name": "t__double", "arguments": {"n": 21}}\n```',
    "auto": '{"name": "t__double", "arguments": {"n": 21}}',
}


@pytest.mark.parametrize("dialect", CALLS)
def test_a_question_in_each_dialect(dialect: str, tmp_path: Path) -> None:
    caller = functions()
    model = ScriptedModel([CALLS[dialect], "It is 42."])
    interpreter = TextInterpreter(caller.skills, dialect=dialect, tag="call")
    events: list[Event] = []
    run = new_run(model, caller, tmp_path, interpreter=interpreter, events=events, stream=True)
    result = execute(run)
    assert (result.status, result.answer, [r.value for r in result.calls]) == ("answered", "It is 42.", [42])
    lawful(run.transcript.messages)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "It is 42."
    first, second = model.requests
    assert first.tools == ()
    assert "t__double" in first.messages[0].content
    assert {role for role, _ in texts(second)} == {"system", "user", "assistant"}
    assert "42" in second.messages[-1].content
    assert '{"n": 21}' in second.messages[-2].content


@pytest.mark.parametrize("dialect", CALLS)
def test_after_a_call_that_did_not_fit_it_is_to_be_mended_and_no_answer_asked_for(dialect: str) -> None:
    interpreter = TextInterpreter(functions().skills, dialect=dialect, tag="call")
    question = Message(role="user", content="Double 21.")

    def told(*statuses: str) -> str:
        calls = tuple(ToolCall(id=f"c{n}", name="t__double", arguments="{}") for n in range(len(statuses)))
        results = [
            Message(role="tool", content="n is required", call_id=call.id, status=status, origin="skill")
            for call, status in zip(calls, statuses, strict=True)
        ]
        asked = Message(role="assistant", calls=calls, origin="model")
        return interpreter.request([question, asked, *results]).messages[-1].content

    for statuses in (("invalid",), ("ok", "invalid"), ("invalid", "ok")):
        assert told(*statuses).endswith(CALL_AGAIN.format(question="Double 21."))
    reminder = ANSWER_NOW.format(question="Double 21.")
    for statuses in (("ok",), ("denied",), ("failed", "ok")):
        assert told(*statuses).endswith(reminder) is (dialect != "react")


def test_react_stops_at_an_observation() -> None:
    interpreter = TextInterpreter(functions().skills, dialect="react")
    assert interpreter.request([]).stop == ("Observation:",)


def test_few_shot_examples_hold_only_the_call_and_one_needs_none() -> None:
    own = functions(examples=({"question": "Twice 4?", "arguments": {"n": 4}},))
    for caller, question, n in ((own, "Twice 4?", 4), (functions(), "Use t__double with n 2.", 2)):
        system, thanks, welcome, asked, call = (
            TextInterpreter(caller.skills, dialect="tagged", tag="call").request([]).messages
        )
        assert (system.role, asked.content) == ("system", question)
        assert (thanks.content, welcome.content) == NO_SKILL
        assert call.content == f'<call>{{"name": "t__double", "arguments": {{"n": {n}}}}}</call>'
    assert len(TextInterpreter(own.skills, dialect="react", examples=False).request([]).messages) == 1
    assert len(TextInterpreter({}, dialect="react").request([]).messages) == 1


def test_a_parse_failure_is_told_and_the_model_tries_again(tmp_path: Path) -> None:
    broken = '<call>{"name": "t__double", "arguments": {"n": }</call>'
    caller = functions()
    model = ScriptedModel([broken, CALLS["tagged"], "42"])
    interpreter = TextInterpreter(caller.skills, dialect="tagged", tag="call")
    run = new_run(model, caller, tmp_path, interpreter=interpreter)
    assert execute(run).answer == "42"
    assert run.transcript.messages[1].content == broken
    assert run.transcript.messages[2].origin == "loop"
    assert "Nothing in your last reply was run" in run.transcript.messages[2].content


def test_parse_failures_for_ever_end(tmp_path: Path) -> None:
    caller = functions()
    interpreter = TextInterpreter(caller.skills, dialect="tagged", tag="call")
    result = execute(new_run(lambda _: "<call>{", caller, tmp_path, interpreter=interpreter))
    assert (result.status, result.steps) == ("stopped", 3)
    assert "could not be read" in result.stop_reason


def test_a_repaired_call_says_so(tmp_path: Path) -> None:
    caller = functions()
    interpreter = TextInterpreter(caller.skills, dialect="tagged", tag="call")
    mended = "<call>{'name': 't__double', 'arguments': {'n': 1,}}</call>"
    execute(new_run([mended, "2"], caller, tmp_path, interpreter=interpreter))
    assert [(call.repaired, json.loads(call.arguments)) for call in caller.calls] == [(True, {"n": 1})]


def test_a_session_can_change_from_native_to_text(tmp_path: Path) -> None:
    caller = functions()
    native = new_run([ToolCall(name="t__double", arguments='{"n":1}'), "2"], caller, tmp_path)
    execute(native)
    model = ScriptedModel(["still 2"])
    interpreter = TextInterpreter(caller.skills, dialect="react", examples=False)
    run = new_run(model, caller, tmp_path, interpreter=interpreter, messages=list(native.transcript.messages))
    execute(run, "and now?")
    assert [role for role, _ in texts(model.requests[0])] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_native_calls_of_such_an_endpoint_count_nevertheless(tmp_path: Path) -> None:
    caller = functions()
    interpreter = TextInterpreter(caller.skills, dialect="react")
    call = ToolCall(name="t__double", arguments='{"n":1}')
    assert execute(new_run([call, "2"], caller, tmp_path, interpreter=interpreter)).calls[0].value == 2


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UsageError, match="klingon"):
        TextInterpreter({}, dialect="klingon")


FENCED = "```json\n" + CALLS["auto"] + "\n```"


@pytest.mark.parametrize(
    ("text", "mode", "called"),
    [
        (CALLS["auto"], "whole", True),
        (FENCED, "whole", True),
        (CALLS["auto"], "off", False),
        ("Example:\n" + FENCED, "whole", False),
        ("I call it.\n" + FENCED, "any", True),
        (f"<think>perhaps {CALLS['auto']}</think>\nAnswer: 4", "any", False),
        ("The price is {4} < 5.", "whole", False),
    ],
)
def test_calls_that_a_native_endpoint_left_in_the_text(text: str, mode: Any, called: bool) -> None:
    """L104, L105 and MODELS.md."""
    heard = NativeInterpreter(functions().skills, text_calls=mode).hear(ModelReply(text=text))
    assert [call.name for call in heard.calls] == (["t__double"] if called else [])
    if not called:
        assert heard.text == text.rpartition("</think>\n")[2]


def test_an_example_in_the_answer_runs_nothing_and_the_session_goes_on(tmp_path: Path) -> None:
    """L105."""
    caller = functions()
    run = new_run(["Example:\n" + FENCED, "bye"], caller, tmp_path)
    assert execute(run).answer == "Example:\n" + FENCED
    assert caller.calls == []


@pytest.mark.parametrize("text", ["It is `x`.", "Hello {you}", FENCED, "<think>a</think>b", " \n", "[1]"])
def test_what_is_shown_while_it_comes_in_is_what_was_said(text: str, tmp_path: Path) -> None:
    from remit.models.protocol import ModelDelta

    class Slow(ScriptedModel):
        async def complete(self, request: Any, *, on_delta: Any = None) -> ModelReply:
            for letter in text if not self.requests else "":
                on_delta(ModelDelta(kind="text", text=letter))
            return await super().complete(request)

    events: list[Event] = []
    result = execute(new_run(Slow([text, "end"]), functions(), tmp_path, events=events, stream=True))
    shown = "".join(e.text for e in events if isinstance(e, TextDelta))
    assert shown.strip() == result.answer.strip()


def test_a_skill_description_reaches_the_prompt() -> None:
    skill = Skill(pack="a", name="b", description="Does b.", schema={"type": "object", "properties": {}})
    for dialect in ("react", "tagged", "json"):
        request = TextInterpreter({"a.b": skill}, dialect=dialect).request([])
        assert "Does b." in request.messages[0].content
    native = NativeInterpreter({"a.b": skill}).request([])
    assert (native.tools[0].name, native.tools[0].description) == ("a__b", "Does b.")


def test_reading_on_is_offered_once_a_result_was_cut() -> None:
    """Small models call `remit.read_result` instead of answering when they see it too early."""
    schema = {"type": "object", "properties": {}}
    named = {READ_RESULT: "read_result", "a.b": "b"}
    skills = {full: Skill(pack=full.split(".")[0], name=n, description="", schema=schema) for full, n in named.items()}
    cut = Message(role="tool", content='[cut; remit.read_result with {"handle": "r-1", "page": 1} reads it]')
    for native in (True, False):
        interpreter = NativeInterpreter(skills) if native else TextInterpreter(skills, dialect="react")
        for messages, offered in (([], False), ([cut], True)):
            request = interpreter.request(messages)
            shown = " ".join([request.messages[0].content, *(tool.name for tool in request.tools)])
            assert "a__b" in shown
            assert ("remit__read_result" in shown) == offered


@pytest.mark.parametrize("dialect", CALLS)
def test_where_only_an_answer_may_come_nothing_shows_how_to_call(dialect: str, tmp_path: Path) -> None:
    """Small models imitate every call that they see."""
    caller = functions()
    interpreter = TextInterpreter(caller.skills, dialect=dialect, tag="call")
    model = ScriptedModel([*[CALLS[dialect]] * 3, "It is 42."])
    result = execute(new_run(model, caller, tmp_path, interpreter=interpreter), "Twice 21?")
    assert (result.status, result.answer) == ("answered", "It is 42.")
    system, last = model.requests[-1].messages
    assert "t__double" in model.requests[-2].messages[0].content
    assert "t__double" not in system.content
    result, note = 'Twice 21?\n\nt__double with {"n": 21} gave: 42\n\n', "For this question no more"
    assert last.content.startswith(result + note)
    assert not any(mark in last.content for mark in ("<call>", "Action:", '"name"'))
    assert "Answer now in plain words" in last.content


@pytest.mark.parametrize(("dialect", "empty"), [("react", "Thought: No skill.\nFinal Answer: "), ("tagged", "  ")])
def test_a_reply_without_an_answer_is_empty(dialect: str, empty: str, tmp_path: Path) -> None:
    caller = functions()
    interpreter = TextInterpreter(caller.skills, dialect=dialect)
    run = new_run([empty, "It is 42."], caller, tmp_path, interpreter=interpreter)
    assert execute(run).answer == "It is 42."
    assert run.transcript.messages[-2].content.startswith("Your reply was empty.")


def test_where_only_an_answer_may_come_refused_replies_are_left_out(tmp_path: Path) -> None:
    caller = functions()
    model = ScriptedModel([CALLS["tagged"], *["<call>{"] * 3, "It is 42."])
    interpreter = TextInterpreter(caller.skills, dialect="tagged", tag="call")
    run = new_run(model, caller, tmp_path, interpreter=interpreter)
    result = execute(run)
    assert (result.status, result.answer, result.steps) == ("answered", "It is 42.", 5)
    assert len(model.requests[-1].messages) == 2
    assert "<call>" not in model.requests[-1].messages[-1].content
    assert run.transcript.messages[-3].content == "<call>{"


def test_where_only_an_answer_may_come_what_succeeded_stands_last(tmp_path: Path) -> None:
    wrong = CALLS["tagged"].replace('"n": 21', '"m": 21')
    caller = functions()
    model = ScriptedModel([CALLS["tagged"], wrong, wrong, wrong, "It is 42."])
    interpreter = TextInterpreter(caller.skills, dialect="tagged", tag="call")
    assert execute(new_run(model, caller, tmp_path, interpreter=interpreter)).answer == "It is 42."
    _, failed, succeeded, _ = model.requests[-1].messages[-1].content.split("\n\n")
    assert failed.startswith('t__double with {"m": 21} gave: ')
    assert succeeded.endswith("gave: 42")


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("Final Answer: 36", "36", ""),
        ("\nThought: 15% of 240 is 36.\nFinal Answer: 36\nor so", "36\nor so", "15% of 240 is 36."),
        ("The label is `Final Answer: x`.", "The label is `Final Answer: x`.", ""),
        ("Thought: no label follows", "Thought: no label follows", ""),
        ("Thoughtful words. Final Answer: no", "Thoughtful words. Final Answer: no", ""),
    ],
)
def test_react_labels_around_a_native_answer_are_left_out(text: str, answer: str, reasoning: str) -> None:
    native = NativeInterpreter(functions().skills)
    heard = native.hear(ModelReply(text=text))
    assert (heard.text, heard.reasoning, heard.calls) == (answer, reasoning, ())
    listen = native.listen()
    shown = "".join(map(listen, text))
    assert shown in ("", text if answer == text else "")
