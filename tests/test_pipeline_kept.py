"""What must not be kept is in no table, whichever way it came; what is passed on is not changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.local_skills import skill
from remit.models.scripted import ScriptedModel, ask
from remit.pipeline.redact import Redactor
from remit.state.store import State
from tests.pipeline_parts import Bench, host_skill

KEY = "tok_4f9a8c7b6d5e"
HEADER = f"Authorization: Bearer {KEY}"


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("state.db*"))


def leak(text: str) -> dict[str, str]:
    """Return a key in every way."""
    print(HEADER)
    return {"api_key": "k-123456789", "text": f"{text} {HEADER}", "long": f"{HEADER} " * 500}


def fail(text: str) -> str:
    """Fail with a key."""
    raise RuntimeError(f"{text} {HEADER}")


@pytest.mark.parametrize("kept", [False, True])
def test_a_key_that_a_skill_gives_is_passed_on_and_not_stored(tmp_path: Path, kept: bool) -> None:
    """Case E152; the control stores everything."""
    options: dict[str, Any] = {"redactor": Redactor(kinds=())} if kept else {}
    cached = {"idempotent": True, "cache": 60, "hash": "h"}
    with Bench(tmp_path, host_skill(leak, **cached), host_skill(fail), **options) as bench:
        result = bench.call("local.leak", text=HEADER)
        assert KEY in result.text and result.value["api_key"] == "k-123456789" and result.handle
        assert KEY in bench.call("local.fail", text=HEADER).text
        again = bench.call("local.leak", text=HEADER)
        assert again.cached is kept and KEY in again.text
        page = bench.call("remit.read_result", "s", handle=result.handle, page=1)
        assert (KEY in page.text) is kept
        bench.state.close()
        assert (KEY.encode() in raw(tmp_path)) is kept and (b"k-123456789" in raw(tmp_path)) is kept
        finished = next(iter(bench.state.records(event="call.finished")))
        assert len(finished.sealed) == 64


def test_what_a_skill_says_on_the_way_is_shown_without_keys(tmp_path: Path) -> None:
    def talk(ctx) -> str:  # type: ignore[no-untyped-def]
        """Talk."""
        ctx.progress(HEADER)
        return "done"

    with Bench(tmp_path, host_skill(talk)) as bench:
        bench.call("local.talk")
        (said,) = [event.text for event in bench.events if event.kind == "progress"]
        assert said == "Authorization: Bearer [redacted: key]"


def test_fields_of_a_deployment_and_secret_arguments(tmp_path: Path) -> None:
    @skill(effect="read")
    def book(customer: str, note: str) -> dict[str, str]:
        """Book something."""
        return {"customer": customer, "room": "12"}

    from remit.local_skills import local_skill

    with Bench(tmp_path, local_skill(book), redactor=Redactor(fields=("customer",))) as bench:
        assert bench.call("local.book", customer="Ada Byron", note="x").value["customer"] == "Ada Byron"
        records = list(bench.state.records())
        proposed = next(record for record in records if record.event == "call.proposed")
        assert proposed.body["arguments"] == {"customer": "[redacted: field]", "note": "x"}
        finished = next(record for record in records if record.event == "call.finished")
        assert json.loads(finished.body["text"]) == {"customer": "[redacted: field]", "room": "12"}
        bench.state.close()
        assert b"Ada Byron" not in raw(tmp_path)


def test_a_session_is_saved_without_keys_and_goes_on(tmp_path: Path) -> None:
    script = [ask("local.leak", text="x"), "Kept it.", "Hello again."]
    with Agent(model=ScriptedModel(script), skills=(skill(effect="read")(leak),), keep_raw=True) as agent:
        agent.run(f"My key: {HEADER}", session="one")
        assert KEY in agent.model.requests[1].messages[-1].content  # type: ignore[attr-defined]
        saved = agent.state.load_session("one")
        assert saved is not None and KEY not in json.dumps(saved.transcript)
        assert agent.run("And now?", session="one").answer == "Hello again."
        assert "[redacted: key]" in agent.model.requests[2].messages[1].content  # type: ignore[attr-defined]
        agent.state.close()
        assert KEY.encode() not in raw(agent.state.folder)


def test_records_of_a_run_hold_question_turns_and_answer(tmp_path: Path) -> None:
    with Agent(model=ScriptedModel(["Hello."])) as agent:
        agent.run("Hi.", session="one")
        state: State = agent.state
        found = {record.event: record.body for record in state.records(session="one")}
    assert list(found) == ["run.started", "turn.reply", "run.ended"]
    assert found["run.started"]["question"] == "Hi." and found["turn.reply"]["text"] == "Hello."
    assert (found["run.ended"]["status"], found["run.ended"]["answer"]) == ("answered", "Hello.")
