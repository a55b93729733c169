"""`remit run`: questions answered over HTTP in each dialect, and endpoints that misbehave."""

from __future__ import annotations

import socket
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from remit.cli.run import notes
from remit.deployment.config import Config
from remit.extensions.extensions import NO_EXTENSIONS
from remit.loop.outcome import RunResult
from tests.command import Home, Ran, home
from tests.model_server import Play, calls, error, serve, text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("run"), "good", "slow", fixtures=("good", "slow"))
    (made.workspace / "notes.txt").write_text("three apples")
    return made


ADD = ("good__add", {"a": 2, "b": 3})
AT_ONCE = {"retry-after": "0"}


def run(
    place: Home, base_url: str, *more: str, question: str = "What is 2 + 3?", expect: int = 0, **options: Any
) -> Ran:
    return place.remit("run", question, "--model", "m", "--base-url", base_url, *more, expect=expect, **options)


def test_a_question_is_answered_with_native_calls(place: Home) -> None:
    with serve([calls(ADD), text("It is 5.")]) as server:
        ran = run(place, server.base_url)
    assert ran.out == "It is 5.\n"
    assert '-> good.add {"a": 2, "b": 3}' in ran.err
    assert "<- ok in " in ran.err and ": 5.0" in ran.err
    assert "\x1b" not in ran.err and "\r" not in ran.err
    tool = server.bodies[1]["messages"][-1]
    assert tool["role"] == "tool" and "5.0" in tool["content"]


@pytest.mark.parametrize(
    ("dialect", "plays"),
    [
        (
            "react",
            [
                'Thought: add\nAction: good__add\nAction Input: {"a": 2, "b": 3}\n',
                "Thought: I know\nFinal Answer: It is 5.",
            ],
        ),
        ("tagged", ['<tool_call>{"name": "good__add", "arguments": {"a": 2, "b": 3}}</tool_call>', "It is 5."]),
        ("auto", ['```json\n{"name": "good__add", "arguments": {"a": 2, "b": 3}}\n```', "It is 5."]),
    ],
)
def test_a_question_is_answered_in_text_dialects(place: Home, dialect: str, plays: Sequence[str]) -> None:
    with serve([text(play) for play in plays]) as server:
        ran = run(place, server.base_url, "--dialect", dialect)
    assert ran.out == "It is 5.\n"
    assert '-> good.add {"a": 2, "b": 3}' in ran.err
    assert all("tools" not in body for body in server.bodies)


def test_json_is_the_structured_result_and_nothing_else(place: Home) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    with serve([calls(ADD, usage=usage), text("It is 5.", usage=usage)]) as server:
        ran = run(place, server.base_url, "--json")
    told = ran.json
    assert set(told) == {field.name for field in fields(RunResult)}, "what remit.http and every program gets"
    assert (told["answer"], told["status"], told["steps"]) == ("It is 5.", "answered", 2)
    assert told["calls"][0]["skill"] == "good.add" and told["calls"][0]["result"] == 5.0
    assert told["usage"]["input_tokens"] == 20
    assert ran.err == ""


def test_a_question_through_a_pipe(place: Home) -> None:
    with serve([text("Ja.")]) as server:
        ran = place.remit("run", "-", "--model", "m", "--base-url", server.base_url, stdin="北京？".encode())
    assert ran.out == "Ja.\n"
    assert server.bodies[0]["messages"][-1]["content"] == "北京？"


def test_a_session_goes_on(place: Home) -> None:
    with serve([text("Hello Ada."), text("Ada.")]) as server:
        run(place, server.base_url, "--session", "talk-1", question="I am Ada.")
        ran = run(place, server.base_url, "--session", "talk-1", question="Who am I?")
    said = [message["content"] for message in server.bodies[1]["messages"] if message["role"] != "system"]
    assert said == ["I am Ada.", "Hello Ada.", "Who am I?"]
    assert ran.out == "Ada.\n"


def test_a_denial_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    made.configure('unattended = "park"', 'unattended = "deny"')
    with serve([calls(("good__wipe", {"path": "a"})), text("I may not.")]) as server:
        ran = run(made, server.base_url)
    assert ran.out == "I may not.\n"
    assert "ask: " in ran.err and "<- denied" in ran.err
    assert "Denied by policy" in server.bodies[1]["messages"][-1]["content"]


def test_nobody_there_parks_the_run(place: Home) -> None:
    with serve([calls(("good__wipe", {"path": "a"}))]) as server:
        ran = run(place, server.base_url, "--session", "parked-1", expect=3)
        told = run(place, server.base_url, "--json", expect=3)
    assert "parked: " in ran.err
    assert "session parked-1 is saved; once that is answered: remit sessions resume parked-1" in ran.err
    assert told.json["status"] == "parked"


def test_read_only_hides_what_writes(place: Home) -> None:
    with serve([text("Ok.")]) as server:
        run(place, server.base_url, "--read-only")
        run(place, server.base_url)
    names = [{tool["function"]["name"] for tool in body["tools"]} for body in server.bodies]
    assert "good__save" not in names[0] and "good__add" in names[0]
    assert "good__save" in names[1]


def test_the_step_limit_stops(place: Home) -> None:
    plays = [calls(("good__add", {"a": n})) for n in range(5)]
    with serve(plays) as server:
        ran = run(place, server.base_url, "--max-steps", "2", expect=1)
    assert "stopped: the step limit of 2 is reached" in ran.err


def test_an_endpoint_that_is_down_fails_with_the_session_saved(place: Home) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ran = run(place, f"http://127.0.0.1:{port}/v1", "--session", "down-1", expect=1)
    assert ran.out == ""
    assert ran.err.count("asking again in ") == 4
    assert f"127.0.0.1:{port}" in ran.err
    assert "failed: " in ran.err and "session down-1 is saved" in ran.err
    with serve([text("Back.")]) as server:
        again = run(place, server.base_url, "--session", "down-1", question="And now?")
    assert again.out == "Back.\n"
    said = [message["content"] for message in server.bodies[0]["messages"] if message["role"] == "user"]
    assert said[0] == "What is 2 + 3?" and said[-1].endswith("And now?")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_endpoints_are_asked_again_visibly(place: Home, status: int) -> None:
    with serve(
        [error(status, "too busy", headers=AT_ONCE), error(status, "too busy", headers=AT_ONCE), text("Now.")]
    ) as server:
        ran = run(place, server.base_url)
    assert ran.out == "Now.\n"
    assert ran.err.count("asking again in 0.0 s: ") == 2 and ran.err.count("too busy") == 2
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 502])
def test_endpoints_that_stay_busy_fail_with_the_session_saved(place: Home, status: int) -> None:
    session = f"busy-{status}"
    with serve([calls(ADD), error(status, "no", headers=AT_ONCE)]) as server:
        ran = run(place, server.base_url, "--session", session, expect=1)
    assert f"{status}" in ran.err and f"session {session} is saved" in ran.err
    with serve([text("It is 5.")]) as server:
        again = run(place, server.base_url, "--session", session, question="Go on.")
    assert again.out == "It is 5.\n"
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles[1:4] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    "play",
    [
        Play(body=b"<html><title>nginx</title></html>", headers=AT_ONCE),
        Play(body=b"not json", headers=AT_ONCE),
        Play(body=b'{"choices": []}', headers=AT_ONCE),
        Play(body=b'{"choices": [{"message": 7}]}', headers=AT_ONCE),
        Play(body=b"\xff\xfe\x00", headers=AT_ONCE),
        text("Half", cut=True, done=False),
    ],
    ids=["html", "text", "no choice", "wrong type", "bytes", "cut"],
)
def test_rubbish_is_a_clear_failure(place: Home, play: Play) -> None:
    with serve([play]) as server:
        ran = run(place, server.base_url, "--session", "rubbish-1", expect=1)
    assert "failed: " in ran.err
    assert "session rubbish-1 is saved" in ran.err
    with serve([text("Fine.")]) as server:
        assert run(place, server.base_url, "--session", "rubbish-1").out == "Fine.\n"


def test_a_refused_key_is_not_asked_again(place: Home) -> None:
    with serve([error(401, "wrong key")]) as server:
        unset = run(place, server.base_url, "--api-key", "env:NO_SUCH_KEY", expect=2)
        assert "the environment variable NO_SUCH_KEY is not set" in unset.err
        bare = run(place, server.base_url, "--api-key", "sk-secret-1", expect=2)
        assert "never the key itself" in bare.err and "sk-secret-1" not in bare.err
        ran = run(place, server.base_url, "--api-key", "env:KEY", environment={"KEY": "sk-secret-1"}, expect=1)
    assert "wrong key" in ran.err and "sk-secret-1" not in ran.err
    assert len(server.requests) == 1


def test_a_slow_endpoint_times_out(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    with serve([text("Late.", delay=3)]) as server:
        made.configure("[model]\n", f'[model]\nname = "m"\nbase_url = "{server.base_url}"\ntimeout = 0.3\n')
        ran = made.remit("run", "Hello", "--session", "slow-1", expect=1)
    assert "failed: " in ran.err and "session slow-1 is saved" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", ""], "the question is empty"),
        (["run", "  "], "the question is empty"),
        (["run"], "the following arguments are required: question"),
        (["run", "x", "--dialect", "raect"], "did you mean react?"),
        (["run", "x", "--max-steps", "0"], "max_steps is 0"),
        (["run", "x", "--max-steps", "many"], "--max-steps"),
        (["run", "x", "--session", "../x"], "is no id of a session"),
        (["run", "x", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["run", "x", "--read-only=lax"], "--read-only"),
    ],
)
def test_wrong_usage_is_named(place: Home, arguments: list[str], says: str) -> None:
    more = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"] if arguments[1:] else []
    ran = place.remit(*arguments, *more, expect=2)
    assert says in ran.err
    assert ran.out == ""


def test_without_a_model_it_says_how_to_name_one(place: Home) -> None:
    ran = place.remit("run", "Hello", expect=2)
    assert "error: no model is named" in ran.err
    assert "next: --model NAME --base-url URL" in ran.err


def test_an_endpoint_that_is_no_url_is_named(place: Home) -> None:
    ran = place.remit("run", "Hello", "--model", "m", "--base-url", "ftp//nowhere", expect=None)
    assert ran.code in (1, 2)
    assert "ftp//nowhere" in ran.err


def test_answers_pass_through_an_ascii_terminal(place: Home) -> None:
    plain = {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    with serve([calls(("good__greet", {"name": "北京"})), text("你好\x1b[31m")]) as server:
        ran = place.program("run", "What is 2 + 3?", "--model", "m", "--base-url", server.base_url, environment=plain)
        told = server.bodies[1]["messages"][-1]["content"]
    assert ran.out == "\\u4f60\\u597d\\x1b[31m\n"
    assert "北京" in told, told


@pytest.mark.parametrize(("flag", "skills"), [("--read-only", False), ("--read-only=strict", False), (None, True)])
def test_read_only_is_a_flag_and_takes_no_word(place: Home, flag: str | None, skills: bool) -> None:
    with serve([text("Ja.")]) as server:
        options = ["--model", "m", "--base-url", server.base_url]
        place.remit("run", *([flag] if flag else []), "How much?", *options)
    body = server.bodies[0]
    assert body["messages"][-1]["content"] == "How much?"
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    assert ("good__save" in offered) is skills


def test_a_flag_that_does_nothing_is_said_to(place: Home) -> None:
    with serve([text("Ja."), text("Ja.")]) as server:
        options = ("--model", "m", "--base-url", server.base_url)
        ran = place.remit("run", "x", "--yes-to-writes", "--session", "typo-1", *options)
        assert "note: --yes-to-writes does nothing here: the deployment lacks allow_yes = true" in ran.err
        assert "note: there is no session typo-1 yet; this begins it" in ran.err
        again = place.remit("run", "x", "--session", "typo-1", *options)
    assert "note:" not in again.err


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ({}, {}, True),
        ({"base_url": "http://127.0.0.1:9/v1"}, {}, False),
        ({"api_key": "env:KEY"}, {}, False),
        ({}, {"OPENAI_API_KEY": "k"}, False),
        ({}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, False),
    ],
)
def test_an_endpoint_that_nobody_named_is_named(
    given: dict[str, str], environment: dict[str, str], said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    options = Namespace(**{"yes_to_writes": False, "base_url": None, "api_key": None, "model": None, **given})
    assert any("api.openai.com" in note for note in notes(options, Config(), NO_EXTENSIONS)) is said
