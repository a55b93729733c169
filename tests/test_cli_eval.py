"""`remit eval`: suites replayed offline, judged, compared and reported; exit codes that CI can use."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from examples.eval.rehearsal import reply

from remit import ScriptedModel
from remit.cli.eval import Progress
from remit.cli.eval_html import page
from remit.cli.eval_junit import junit
from remit.cli.eval_text import percent
from remit.deployment.deployment import Deployment
from remit.evaluation import Case, Report, evaluate
from remit.evaluation.attempt import Attempt, TurnOutcome
from remit.evaluation.example import EXAMPLE
from remit.evaluation.report import CaseReport
from remit.evaluation.trajectory import MadeCall
from remit.models.protocol import ModelRequest
from tests.in_process import Here
from tests.model_server import serve, text

WORDS = """\
suite: 1
name: words
cases:
- {id: room, question: Where is the meeting?, answer: {contains: Room 4}, tags: [meeting]}
- {id: day, question: When is the meeting?, answer: {contains: Thursday}, tags: [meeting]}
- {id: hello, question: Say hello., answer: {contains: hello}, trajectory: [], match: exact}
"""
"""Answered in words alone, so that no cell has to start."""

GOOD = {"Where": "In room 4.", "When": "On Thursday.", "Say": "Hello!"}
SHAKY = {**GOOD, "When": "I do <b>not</b> know."}


def answered(words: Mapping[str, str], request: ModelRequest) -> str:
    return words[request.messages[-1].content.split()[0]]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("eval")).make("calc", "files")
    (made.folder / "suite.yaml").write_text(EXAMPLE)
    (made.folder / "words.yaml").write_text(WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(made.place / "state"))
        with Deployment.open(made.folder) as house:
            example = ScriptedModel(reply, name="rehearsed")
            evaluate(made.folder / "suite.yaml", house, model=example, record=made.folder / "example.jsonl")
            for name, words in (("good", GOOD), ("shaky", SHAKY)):
                model = ScriptedModel(partial(answered, words), name=name)
                evaluate(made.folder / "words.yaml", house, model=model, record=made.folder / f"{name}.jsonl")
    return made


def test_the_example_passes_offline_and_writes_every_report(here: Here) -> None:
    ran = here.remit(
        *("eval", "suite.yaml", "--replay", "example.jsonl", "--jobs", "3"),
        *("--save", "example.json", "--html", "r.html", "--junit", "r.xml"),
    )
    assert ran.out.startswith("suite example, model rehearsed, replayed\n")
    assert "asks-before-writing  passed  1/1" in ran.out and "success                   100% (" in ran.out
    assert "success of arithmetic" in ran.out and "times say nothing about the model" in ran.err
    assert "\x1b" not in ran.out + ran.err and "\r" not in ran.err
    saved = json.loads((here.folder / "example.json").read_text())
    assert saved["remit_evaluation"] == 1 and saved["figures"]["success"]["value"] == 1.0
    assert ElementTree.parse(here.folder / "r.xml").getroot()[0].attrib["failures"] == "0"
    assert "<script" not in (here.folder / "r.html").read_text()


def test_a_loss_against_a_baseline_is_exit_code_1_and_named(here: Here) -> None:
    here.remit("eval", "words.yaml", "--replay", "good.jsonl", "--save", "base.json")
    against = ("eval", "words.yaml", "--replay", "shaky.jsonl", "--baseline", "base.json")
    worse = here.remit(*against, expect=1)
    assert "1 newly failing, 0 newly passing: within noise (McNemar exact p = 1 over 3 cases)" in worse.out
    assert "  newly failing: day\n" in worse.out and "  success: 100% (" in worse.out
    told = here.remit(*against, "--tolerate-noise", "--json")
    assert told.json["comparison"]["worse"] == ["day"] and told.json["comparison"]["noise"] is True
    assert told.err == ""
    assert here.remit(*against, "--tolerate-noise", "--min-success", "90%", "--json", expect=1).err == ""


def test_a_failing_case_that_the_baseline_does_not_know_is_exit_code_1(here: Here) -> None:
    here.remit("eval", "words.yaml", "--replay", "good.jsonl", "--save", "known.json")
    extra = "- {id: more, question: Say more., answer: {contains: more}}\n"
    (here.folder / "more.yaml").write_text(WORDS + extra)
    against = ("--replay", "good.jsonl", "--baseline", "known.json", "--html", "more.html")
    ran = here.remit("eval", "more.yaml", *against, expect=1)
    assert "  failing, and not compared: more\n" in ran.out and "1 failing that could not be compared" in ran.out
    assert ">worse<" in (here.folder / "more.html").read_text()
    (here.folder / "strict.yaml").write_text(WORDS.replace("Thursday", "Friday"))
    assert "failing, and not compared: day" in here.remit("eval", "strict.yaml", *against, expect=1).out
    here.remit("eval", "words.yaml", *against)
    page = (here.folder / "more.html").read_text()
    assert ">not worse<" in page and '<ul class="bare"></ul>' not in page


def test_a_recording_is_replaced_only_where_that_is_asked_for(here: Here) -> None:
    (here.folder / "kept.jsonl").write_text("costly\n")
    asked = ("eval", "words.yaml", "--filter", "hello", "--model", "m", "--record", "kept.jsonl", "--base-url")
    refused = here.remit(*asked, "http://127.0.0.1:9/v1", expect=2)
    assert "kept.jsonl is there already" in refused.err and "--overwrite" in refused.err
    assert (here.folder / "kept.jsonl").read_text() == "costly\n"
    with serve([text("Hello!")]) as server:
        here.remit(*asked, server.base_url, "--overwrite", "--record-calls")
    head = (here.folder / "kept.jsonl").read_text().splitlines()[0]
    assert json.loads(head)["calls"] is True
    replayed = here.remit("eval", "words.yaml", "--filter", "hello", "--replay", "kept.jsonl")
    assert "what skills gave was played, too" in replayed.err
    ran = here.remit("eval", "words.yaml", "--filter", "hello", "--replay", "kept.jsonl", "--run-calls")
    assert "skills ran: only the model was replayed" in ran.err


def test_without_a_baseline_every_attempt_must_pass_unless_a_share_is_enough(here: Here) -> None:
    ran = here.remit("eval", "words.yaml", "--replay", "shaky.jsonl", expect=1)
    assert '\nday\n  the answer lacks "Thursday"\n' in ran.out and "see: remit log replay eval-day-1-" in ran.out
    few = ("eval", "words.yaml", "--replay", "shaky.jsonl", "--tag", "meeting", "--min-success")
    here.remit(*few, "0.5")
    here.remit(*few, "0.6", expect=1)
    assert "takes a share, not '7'" in here.remit(*few, "7", expect=2).err


def test_what_is_not_in_the_recording_is_named_and_nobody_is_asked(here: Here) -> None:
    (here.folder / "other.yaml").write_text(WORDS.replace("Where is", "Where was"))
    ran = here.remit("eval", "other.yaml", "--replay", "good.jsonl", "--filter", "room", expect=1)
    assert "message 2 (the user): at character 7" in ran.out and "Where was" in ran.out


def test_wrong_usage_is_exit_code_2(here: Here) -> None:
    assert "no suite is named" in here.remit("eval", expect=2).err
    assert "no model is named" in here.remit("eval", "suite.yaml", expect=2).err
    assert "absent.json cannot be read" in here.remit("eval", "words.yaml", "--baseline", "absent.json", expect=2).err
    wrong = here.folder / "wrong.yaml"
    wrong.write_text("cases:\n- id: a\n  question: q\n  trajectory: [clock.now]\n")
    ran = here.remit("eval", "wrong.yaml", "--replay", "good.jsonl", expect=2)
    assert "case a: no skill clock.now can be called here" in ran.err and "--skip-missing" in ran.err
    skipped = here.remit("eval", "wrong.yaml", "--replay", "good.jsonl", "--skip-missing", expect=1)
    assert "a     skipped  -" in skipped.out and "no skill clock.now can be called here" in skipped.out


def test_cases_are_listed_without_being_run(here: Here) -> None:
    ran = here.remit("eval", "suite.yaml", "--list", "--tag", "files")
    assert ran.out.splitlines()[0].split() == ["case", "tags", "question"] and len(ran.out.splitlines()) == 3
    assert [case["id"] for case in here.remit("eval", "suite.yaml", "--list", "--filter", "per", "--json").json] == [
        "percent"
    ]


def test_a_model_over_http_is_recorded_without_its_key_and_replayed(here: Here) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    plays = [text("", usage=usage), text("Hello!", usage=usage)]
    asked = ("eval", "words.yaml", "--filter", "hello", "--model", "m")
    with serve(plays) as server:
        keyed = Here(place=here.place, environment={"MY_KEY": "sk-secret-0123456789abcdef"})
        told = keyed.remit(
            *asked, "--base-url", server.base_url, "--api-key", "env:MY_KEY", "--record", "http.jsonl", "--json"
        ).json
        assert len(server.requests) == 2
    assert told["cases"][0]["attempts"][0]["tokens"] == 24 and told["mode"] == "recorded"
    recording = (here.folder / "http.jsonl").read_text()
    assert "sk-secret" not in recording and server.base_url not in recording
    again = here.remit("eval", "words.yaml", "--filter", "hello", "--replay", "http.jsonl", "--json").json
    assert again["figures"]["tokens"]["total"] == 24


def test_a_stored_session_becomes_a_case_that_holds(here: Here) -> None:
    stored = [one.get("id") or one.get("session") for one in here.remit("sessions", "list", "--all", "--json").json]
    session = next(one for one in stored if one.startswith("eval-and-half-of-it-"))
    ran = here.remit("eval", "--from-session", session)
    assert "it expects what happened" in ran.err
    (here.folder / "stored.yaml").write_text(ran.out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(here.place / "state"))
        with Deployment.open(here.folder) as house:
            report = evaluate(here.folder / "stored.yaml", house, model=ScriptedModel(reply))
    (one,) = report.cases
    assert one.state == "passed" and len(one.case.turns) == 2 and len(one.attempts[0].calls) == 2
    told = here.remit("eval", "--from-session", session, "--json").json
    assert told["cases"][0]["trajectory"][0] == {
        "skill": "calc.evaluate",
        "arguments": {"expression": {"eq": "12 * 12"}},
    }
    assert "there is no session nothing" in here.remit("eval", "--from-session", "nothing", expect=2).err


def test_the_example_is_printed_without_a_deployment(here: Here) -> None:
    assert here.remit("eval", "--example").out == EXAMPLE


EVIL = "<script>alert(1)</script>\u202e\x1b[31m'\"&"


def hostile() -> Report:
    turn = TurnOutcome(
        answer=EVIL,
        status="answered",
        reason=EVIL,
        calls=(MadeCall(skill=EVIL, arguments={EVIL: EVIL}, status="ok"),),
    )
    failed = Attempt(number=1, session="s", turns=(turn,), failures=(EVIL,))
    case = Case.model_validate({"id": "a", "question": EVIL, "tags": [EVIL]})
    cases = (CaseReport(case=case, attempts=(failed,)), CaseReport(case=case, skipped=EVIL))
    return Report(suite=EVIL, model=EVIL, mode="asked", made=0.0, repeat=1, cases=cases, notes=(EVIL,))


def test_nothing_that_a_model_or_pack_wrote_is_markup_or_invisible() -> None:
    shown = page(hostile())
    assert "<script" not in shown and "&lt;script&gt;" in shown and "Content-Security-Policy" in shown
    assert "\u202e" not in shown and "\x1b" not in shown
    tree = ElementTree.fromstring(junit(hostile()).encode())
    assert [one.tag for one in tree.iter("testcase")] == ["testcase", "testcase"]
    assert "\x1b" not in junit(hostile())


def test_text_of_a_model_cannot_move_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from remit.cli.eval_text import show

    show(hostile())
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err and "\u202e" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "100%"), (0.9999, "99.9%"), (0.0, "0%"), (0.0001, "0.1%"), (0.5, "50%"), (1 / 3, "33.3%")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(value: float, shown: str) -> None:
    assert percent(value) == shown


def test_progress_is_one_line_and_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    case = Case.model_validate({"id": "a", "question": "q"})
    for shown in (True, False):
        progress = Progress(shown=shown)
        progress.done(case, Attempt(number=1))
        progress.done(case, Attempt(number=2, failures=("no",)))
        progress.clear()
    err = capsys.readouterr().err
    assert err.count("2 attempts done, 1 failed; last: a") == 1 and err.endswith("\r\x1b[K")
    assert "\n" not in err


def test_a_report_that_cannot_be_written_is_an_error(here: Here, tmp_path: Path) -> None:
    ran = here.remit("eval", "words.yaml", "--replay", "good.jsonl", "--html", str(tmp_path), expect=2)
    assert "cannot be written" in ran.err
