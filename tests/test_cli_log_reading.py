"""`remit log list`, `tail`, `stats`, `replay` and `export` over logs whose every record is known."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from remit.state.records import Entry
from remit.state.store import State
from tests.log_parts import NOON, Here, call_entries, here, written

__all__ = ["here"]

DAY = 86_400.0


@pytest.fixture
def log(here: Here) -> Here:
    state = written(
        here.folder,
        Entry(event="policy.changed", time=NOON - DAY, who="root"),
        *call_entries("c1", arguments={"expression": "1+1"}),
        *call_entries("c2", who="bob", session="s2abcdef", skill="mail.send", effect="external", verdict="deny",
                      status="denied", reason="no mail today", source="rule quiet", at=NOON + 60),
        *call_entries("c3", session="s2abcdef", verdict="ask", status="failed", at=NOON + DAY, reason="it broke"),
        Entry(event="turn.reply", session="s2abcdef", time=NOON + DAY, who="ada",
              body={"model": "m", "input_tokens": 100, "output_tokens": 7, "duration": 1.5}, sealed={"text": "Hm."}),
    )  # fmt: skip
    state.close()
    return here


def seqs(log: Here, *arguments: str) -> list[int]:
    return [record["seq"] for record in log.log("list", "--json", *arguments).json]


def test_every_filter_narrows_and_all_must_fit(log: Here) -> None:
    everything = seqs(log)
    assert everything == list(range(1, 14))
    assert seqs(log, "--who", "bob") == [6, 7, 8]
    assert seqs(log, "--skill", "mail.send") == seqs(log, "--skill", "mail__send") == [6, 7, 8]
    assert seqs(log, "--verdict", "deny") == [7, 8]
    assert seqs(log, "--status", "failed") == [12]
    assert seqs(log, "--effect", "external") == [7, 8]
    assert seqs(log, "--call", "c1") == [2, 3, 4, 5]
    assert seqs(log, "--session", "s2ab") == seqs(log, "--session", "s2abcdef") == [6, 7, 8, 9, 10, 11, 12, 13]
    assert seqs(log, "--event", "call.started", "--event", "turn.") == [4, 11, 13]
    assert seqs(log, "--event", "call.", "--who", "ada", "--verdict", "ask") == [10, 11, 12]
    assert seqs(log, "--who", "ada", "--verdict", "deny") == []
    assert seqs(log, "--who", "A'; DROP TABLE records; --") == []


def test_times_narrow_and_days_count_whole(log: Here) -> None:
    assert seqs(log, "--until", "2026-05-27") == [1]
    assert seqs(log, "--since", "2026-05-28", "--until", "2026-05-28") == list(range(2, 9))
    assert seqs(log, "--since", "2026-05-28T20:27:30+00:00", "--until", "2026-05-29") == list(range(6, 14))
    assert seqs(log, "--since", "1h") == []
    assert "no point of time" in log.log("list", "--since", "soon", expect=2).err


def test_pages_by_number(log: Here) -> None:
    assert seqs(log, "--limit", "3") == [11, 12, 13]
    assert seqs(log, "--limit", "3", "--before", "11") == [8, 9, 10]
    assert seqs(log, "--limit", "3", "--after", "2") == [3, 4, 5]
    assert seqs(log, "--after", "2", "--before", "5") == [3, 4]
    assert "--before 11" in log.log("list", "--limit", "3").err
    assert log.log("list", "--after", "-4", expect=2).err


def test_what_is_listed_fits_eighty_columns_and_says_what_matters(log: Here) -> None:
    shown = log.log("list").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "2026-05-28  session s2abcdef  bob" in shown
    assert "deny: no mail today" in shown and "failed: it broke" in shown and "allow: default read" in shown


@pytest.mark.parametrize("written", ["a\x00b", "\udcff", "\u202e", "x" * 5000])
def test_hostile_filters_find_nothing_and_break_nothing(log: Here, written: str) -> None:
    """Case E159: a NUL or a lone surrogate from the command line."""
    told = log.log("list", "--skill", written).out
    assert told.startswith("no record fits: none is of the skill") and len(told) < 200 and "\u202e" not in told
    assert log.log("list", "--session", written, "--event", written).out.startswith("no record fits")
    assert log.log("show", written, expect=2).err
    assert log.log("replay", written, expect=2).err


def test_text_from_outside_cannot_forge_lines_or_move_the_cursor(here: Here) -> None:
    """Case E157: line breaks in a skill, a session, a reason; export has as many lines as there are records."""
    forged = "\n2026-01-01 approved wipe\x1b[2J\u202e"
    entries = call_entries("c" + forged, session="s" + forged, skill="x" + forged, who="w" + forged, reason=forged)
    written(here.folder, *entries).close()
    shown = here.log("list").out
    assert "\x1b" not in shown and "\u202e" not in shown
    replayed = here.log("replay", "s" + forged, "--full").out
    assert "\x1b" not in replayed and "\u202e" not in replayed
    assert not any(line.startswith("2026-01-01") for line in (*replayed.splitlines(), *shown.splitlines()))
    lines = here.log("export", "--payloads").out.splitlines()
    assert len(lines) == len(entries) + 1 and json.loads(lines[-1])["event"] == "log.exported"
    assert json.loads(lines[0])["skill"] == "x" + forged


def test_show_finds_a_record_by_number_and_a_call_by_id(log: Here) -> None:
    record = log.log("show", "2", "--json").json
    assert record["event"] == "call.proposed" and record["body"]["arguments"] == {"expression": "1+1"}
    shown = log.log("show", "2").out
    assert shown.startswith("record 2  call.proposed  2026-05-28 ") and '{"expression": "1+1"}' in shown
    assert [one["seq"] for one in log.log("show", "c2", "--json").json] == [6, 7, 8]
    assert "no record and no call" in log.log("show", "c9", expect=2).err


def test_a_call_id_of_two_sessions_is_asked_about(here: Here) -> None:
    written(here.folder, *call_entries("c1"), *call_entries("c1", session="s2")).close()
    assert "2 sessions have a call c1" in here.log("show", "c1", expect=2).err
    assert len(here.log("show", "c1", "--session", "s2", "--json").json) == 4


def test_stats_count_what_happened(log: Here) -> None:
    found = log.log("stats", "--json").json
    assert (found["records"], found["sessions"], found["people"]) == (13, 2, 3)
    calc = found["skills"]["calc.evaluate"]
    assert calc["calls"] == 2 and calc["statuses"] == {"ok": 1, "failed": 1}
    assert calc["durations"] == {"count": 2, "p50": 0.5, "p95": 0.5, "longest": 0.5}
    assert found["denials"] == [{"source": "rule quiet", "reason": "no mail today", "count": 1}]
    assert found["models"]["m"]["input_tokens"] == 100
    assert log.log("stats", "--who", "bob", "--json").json["skills"].keys() == {"mail.send"}
    shown = log.log("stats").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "rule quiet" in shown and "1 ok, 1 failed" in shown
    assert log.log("stats", "--who", "nobody").out == "no record fits\n"


def test_a_call_whose_clock_went_back_is_counted_and_said_so(here: Here) -> None:
    """Case E164: the record is kept, without a duration."""
    written(here.folder, *call_entries("c1", duration=None), *call_entries("c2", duration=-3.0)).close()
    assert here.log("stats", "--json").json["skills"]["calc.evaluate"]["without_duration"] == 2
    assert "calc.evaluate: 2 calls without duration" in here.log("stats").out


def test_stats_tell_how_long_people_took(here: Here) -> None:
    asked = [
        Entry(event="signoff.asked", time=NOON + n, session="s", call=f"c{n}", body={"nonce": str(n)})
        for n in (0, 1, 2)
    ]
    answered = [
        Entry(event="signoff.answered", time=NOON + 30, body={"nonce": "0", "answer": "once", "by": "ann"}),
        Entry(
            event="signoff.answered", time=NOON + 61, body={"nonce": "1", "answer": "deny", "by": "ann", "reason": "no"}
        ),
    ]
    written(here.folder, *asked, *answered).close()
    found = here.log("stats", "--json").json
    assert found["signoffs"] == {"once": 1, "deny": 1, "waiting": 1}
    assert (found["waiting"]["p50"], found["waiting"]["longest"]) == (30.0, 60.0)
    assert found["denials"] == [{"source": "a person", "reason": "no", "count": 1}]
    assert "30.0 s (half), 60.0 s (95%)" in here.log("stats").out


def test_a_question_that_was_settled_or_came_to_nothing_does_not_wait(here: Here) -> None:
    def put(event: str, at: float, **body: Any) -> Entry:
        return Entry(event=event, time=NOON + at, session="s", call="c", body=body, skill="mail.send")

    written(
        here.folder,
        put("signoff.asked", 0, nonce="1", action="a", parked=True, expires=NOON + 7e9),
        put("signoff.asked", 1, nonce="2", action="a", expires=NOON + 7e9),
        put("signoff.answered", 2, nonce="2", answer="once", by="ann"),
        put("signoff.asked", 3, nonce="3", action="b", expires=NOON + 4),
    ).close()
    assert here.log("stats", "--json").json["signoffs"] == {"once": 1, "expired": 1}
    told = here.log("replay", "s").out
    assert told.count("a person is asked") == 2 and "nobody is there: it waits for an answer" in told


def test_a_name_that_no_record_has_is_said_with_the_nearest(log: Here) -> None:
    assert log.log("list", "--skill", "calc.evalute").out == (
        "no record fits: none is of the skill 'calc.evalute'; did you mean calc.evaluate?\n"
    )
    assert "did you mean call.finished?" in log.log("list", "--event", "call.finishd").out
    assert log.log("list", "--event", "foo").out == "no record fits: none is of the event 'foo'\n"
    assert log.log("list", "--skill", "calc.evaluate", "--who", "nobody").out == "no record fits\n"


def test_replay_puts_a_session_together(here: Here) -> None:
    session = {"session": "s1", "who": "ada"}
    signed = [
        Entry(event="signoff.asked", call="c1", time=NOON + 4, body={"nonce": "n"}, skill="mail.send", **session),
        Entry(event="signoff.answered", call="c1", time=NOON + 5, body={"nonce": "n", "answer": "once", "by": "ann"},
              skill="mail.send", **session),
    ]  # fmt: skip
    called = call_entries("c1", skill="mail.send", verdict="ask", effect="external", reason="it writes outside",
                          source="default external", arguments={"to": "bob"}, text="sent")  # fmt: skip
    written(
        here.folder,
        Entry(event="run.started", time=NOON, body={"model": "m"}, sealed={"question": "Write to Bob."}, **session),
        Entry(event="turn.reply", time=NOON, body={"step": 1, "model": "m", "calls": ["mail__send"], "duration": 1.0},
              sealed={"text": "I shall write."}, **session),
        *called[:2],
        *signed,
        *called[2:],
        Entry(event="turn.reply", time=NOON + 9, body={"step": 2, "model": "m"}, sealed={"text": "Done."}, **session),
        Entry(event="run.ended", time=NOON + 9, body={"status": "answered"}, sealed={"answer": "Done."}, **session),
    ).close()  # fmt: skip
    shown = here.log("replay", "s1").out
    told = ["question", "Write to Bob.", "I shall write.", "call mail.send (c1)", '{"to": "bob"}',
            "ask (default external): it writes outside", "a person is asked", "once by ann", "ok after 0.500 s",
            "sent", "turn 2 of m", "Done.", "answer"]  # fmt: skip
    places = [shown.index(one) for one in told]
    assert places == sorted(places)
    steps = here.log("replay", "s1", "--json").json["steps"]
    assert [step["kind"] for step in steps] == ["question", "turn", "call", "turn", "end"]


def test_a_call_that_never_ended_is_marked(here: Here) -> None:
    started = call_entries("c1", effect="write", skill="files.write_file")[:3]
    lost = Entry(event="call.lost", session="s1", call="c1", skill="files.write_file", who="ada", time=NOON + 60)
    state = written(here.folder, *started, lost)
    state.database.write(lambda c: c.execute("UPDATE open_calls SET state = 'lost'"))
    state.append_all(call_entries("c2"), durable=False)
    state.close()
    assert "IN DOUBT" in here.log("replay", "s1").out
    assert seqs(here, "--in-doubt") == [1, 2, 3, 4]
    assert "1 call in doubt" in here.log("stats").out
    assert "in doubt" in here.log("list").out


def test_export_streams_json_lines_with_the_same_filters(log: Here, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    assert "3 records" in log.log("export", str(target), "--who", "bob").err
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["seq"] for line in lines] == [6, 7, 8]
    assert "payload" not in lines[0] and "arguments" not in json.dumps(lines) and len(lines[0]["sealed"]) == 64
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert "is there already" in log.log("export", str(target), expect=2).err
    assert "cannot be written" in log.log("export", str(tmp_path / "no" / "x"), expect=2).err
    log.log("export", str(target), "--payloads", "--force")
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert lines[1]["payload"] == {"arguments": {"expression": "1+1"}}
    assert lines[-1]["event"] == "log.exported" and len(lines) == 14
    assert os.listdir(tmp_path) == ["out.jsonl", "state"] or set(os.listdir(tmp_path)) == {"out.jsonl", "state"}


def test_exporting_payloads_adds_a_small_record_each_time(here: Here) -> None:
    """Case E168: what is read is not written into the log again."""
    written(here.folder, *(e for n in range(50) for e in call_entries(f"c{n}", text="x" * 10_000))).close()
    before = seqs(here, "--limit", "1000")
    sizes = [len(here.log("export", "--payloads").out) for _ in range(3)]
    added = here.log("list", "--event", "log.exported", "--json").json
    assert len(added) == 3 and len(seqs(here, "--limit", "1000")) == len(before) + 3
    assert max(len(json.dumps(record)) for record in added) < 1000 < min(sizes)


@pytest.mark.parametrize("action", ["list", "tail", "show", "replay", "stats", "export", "prune", "erase"])
def test_help_has_an_example_and_is_plain(here: Here, action: str) -> None:
    shown = here.log(action, "--help").out
    assert f"  remit log {action}" in shown and shown.isascii()


FOLLOW = """
import sys
from pathlib import Path
import remit.cli.log
from remit.cli.main import run
from remit.state.store import State
remit.cli.log.opened_state = lambda _: State(Path(sys.argv[1]))
raise SystemExit(run(["log", "tail", "--follow", "--json", "--limit", "1"]))
"""


def test_tail_follows_until_ctrl_c(log: Here) -> None:
    assert len(log.log("tail", "--limit", "2", "--json").json) == 2
    process = subprocess.Popen(
        [sys.executable, "-c", FOLLOW, str(log.folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        assert json.loads(process.stdout.readline())["seq"] == 13
        with State(log.folder) as state:
            state.append("call.fault", session="s9", body={"error": "x"}, durable=False)
        assert json.loads(process.stdout.readline())["session"] == "s9"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()
