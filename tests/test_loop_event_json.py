"""Events as JSON: every kind of event, whatever is in it."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin, get_type_hints

from remit.loop import events
from remit.loop.event_json import event_json, event_name, plain, result_json
from remit.loop.outcome import RunResult
from remit.models.protocol import Usage
from remit.provenance.ledger import Ledger
from remit.values import Call, Decision, Result

CALL = Call(id="c1", skill="mail.send", arguments='{"to": "a\ud800"}', session="s", ledger=Ledger())
RESULT = Result(
    call="c1",
    skill="mail.send",
    status="ok",
    text="cut",
    value={"n": 2**80, "text": "\u202e\x1b", "list": [1.5, None, True]},
    labels=frozenset({"untrusted", "private"}),
    follow_ups=(Result(call="c2", skill="mail.log", status="failed", text="no", reason="no"),),
)
VALUES: dict[Any, Any] = {
    Call: CALL,
    Result: RESULT,
    Decision: Decision(verdict="ask", reason="r", source="default write", origins=(("to", "the model"),)),
    Usage: Usage(input_tokens=3),
    RunResult: RunResult(answer="a", status="answered", calls=(RESULT,), session="s"),
    events.Event: events.RunStarted(session="s", question="q"),
    str: "text\u202e",
    int: 1,
    float: 0.5,
    bool: True,
}


def every_event() -> list[events.Event]:
    """Make one event of each kind, its fields filled by their types."""
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    return [kind(**{name: value_of(hint) for name, hint in get_type_hints(kind).items()}) for kind in kinds]


def value_of(hint: Any) -> Any:
    if hint in VALUES:
        return VALUES[hint]
    if get_origin(hint) is tuple:
        return (value_of(get_args(hint)[0]),)
    first = get_args(hint)[0]
    return first if isinstance(first, str) else value_of(first)


def test_every_event_becomes_strict_json_and_says_which_it_is() -> None:
    for event in every_event():
        body = event_json(event)
        assert json.loads(json.dumps(body, allow_nan=False)) == body
        assert body["event"] == event_name(event) and body["session"] == "text\u202e"
        assert set(body) == {"event", *get_type_hints(type(event))}


def test_a_call_has_its_arguments_as_they_came_and_no_ledger() -> None:
    body = event_json(events.CallProposed(session="s", call=CALL))
    assert body["event"] == "call_proposed"
    assert body["call"]["arguments"] == CALL.arguments and "ledger" not in body["call"]


def test_a_result_keeps_its_value_its_labels_and_its_follow_ups() -> None:
    body = result_json(RunResult(answer="a", status="parked", stop_reason="waits", calls=(RESULT,), session="s"))
    assert (body["status"], body["stop_reason"], body["session"]) == ("parked", "waits", "s")
    (call,) = body["calls"]
    assert call["result"] == RESULT.value and call["labels"] == ["private", "untrusted"]
    assert call["follow_ups"][0]["reason"] == "no"
    assert body["usage"] == {"input_tokens": None, "output_tokens": None} | body["usage"]


def test_what_is_no_json_becomes_text() -> None:
    assert plain({1: {2, 3}, "path": RuntimeError("x")}) == {"1": ["2", "3"], "path": "x"}
