"""`remit call`: its results, exit codes, JSON, and what it says when a call goes wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.in_process import Here


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(
        tmp_path_factory.mktemp("call"), "good", "slow", "hostile", "calc", fixtures=("good", "slow", "hostile")
    )
    (made.workspace / "notes.txt").write_text("three apples")
    (made.workspace / "out").mkdir()
    return made


def test_a_result_is_all_that_goes_to_standard_output(place: Home) -> None:
    ran = place.remit("call", "good.add", '{"a": 2, "b": 3}')
    assert ran.out == "5.0\n"
    assert "\x1b" not in ran.out + ran.err


def test_json_has_four_fields(place: Home) -> None:
    told = place.remit("call", "good.order", '{"items": [], "due": "2026-01-31"}', "--json").json
    assert list(told) == ["status", "result", "reason", "duration"]
    assert (told["status"], told["reason"]) == ("ok", "")
    assert told["result"]["due"] == "2026-01-31"
    assert told["duration"] > 0


def test_arguments_come_from_standard_input(place: Home) -> None:
    assert place.remit("call", "good.read", "-", stdin=b'\xef\xbb\xbf{"path": "notes.txt"}').out == "three apples\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('{"a": "two"}', ["- a: ", "number", "Expected: {a: number, b?: number = 0}"]),
        ("{}", ["- a: is required, but missing"]),
        ('{"a": 1, "c": 1}', ["- c: is unknown; known are a, b"]),
        ("[1]", ["object"]),
        ("not json", ["not valid JSON", "character 0"]),
        ('{"a": 1', ["not valid JSON"]),
        ("", ["- a: is required, but missing"]),
        ('{"a": 12345678901234567890123}', ["integer 12345678901234567890123 is too large"]),
    ],
)
def test_arguments_that_do_not_fit_are_named(place: Home, arguments: str, says: list[str]) -> None:
    ran = place.remit("call", "good.add", arguments, expect=2)
    assert ran.out == ""
    assert ran.err.startswith("invalid: The arguments do not fit, so nothing was run:")
    assert all(text in ran.err for text in says), ran.err


def test_arguments_that_are_no_text_are_no_traceback(place: Home) -> None:
    ran = place.remit("call", "good.greet", os.fsdecode(b'{"name": "\xff\xfe"}'))
    assert "Hello" in ran.out


def test_an_unknown_skill_names_the_nearest(place: Home) -> None:
    ran = place.remit("call", "good.ad", "{}", expect=2)
    assert "There is no skill 'good.ad', so nothing was run. Did you mean good.add?" in ran.err
    told = place.remit("call", "nobody.there", "{}", "--json", expect=2)
    assert told.json["status"] == "invalid"
    assert "There is no skill 'nobody.there'" in told.json["reason"]


def test_a_skill_of_a_disabled_pack_names_the_command_that_helps(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    assert made.remit("call", "good.add", '{"a": 1}').code == 0
    made.remit("packs", "disable", "good")
    refused = made.remit("call", "good.add", '{"a": 1}', expect=1)
    assert refused.err.startswith("invalid: pack good is not enabled; nothing was run.")
    assert "next: remit packs enable good" in refused.err
    made.remit("packs", "enable", "good", "--skills", "add", "--yes")
    hidden = made.remit("call", "good.greet", '{"name": "Ada"}', expect=1)
    assert 'in [packs.good] write skills = ["add", "greet"]' in hidden.err


@pytest.mark.parametrize(
    ("skill", "arguments", "status", "says"),
    [
        ("good.breaks", '{"message": "no luck"}', "failed", "good.breaks failed: ValueError: no luck"),
        ("slow.stubborn", '{"seconds": 60}', "timeout", "slow.stubborn was not done within 1 second"),
        ("hostile.leave", '{"how": "_exit"}', "failed", "hostile.leave ended without an answer"),
        ("hostile.leave", '{"how": "segv"}', "failed", "hostile.leave ended without an answer"),
        ("hostile.odd", '{"kind": "nan"}', "failed", "JSON has no such number"),
        ("hostile.odd", '{"kind": "object"}', "failed", "object"),
    ],
)
def test_a_handler_that_misbehaves_is_a_result(place: Home, skill: str, arguments: str, status: str, says: str) -> None:
    ran = place.remit("call", skill, arguments, expect=1)
    assert ran.out == ""
    assert ran.err.startswith(f"{status}: ")
    assert says in ran.err
    assert place.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_what_a_handler_prints_is_no_part_of_its_result(place: Home) -> None:
    ran = place.remit("call", "hostile.flood", '{"megabytes": 100}')
    assert ran.out == "flooded\n"
    assert len(ran.err) < 10_000


def test_nobody_there_parks_and_says_what_would_help(place: Home) -> None:
    ran = place.remit("call", "good.save", '{"path": "a.txt", "text": "x"}', expect=3)
    assert ran.err.startswith("parked: good.save waits for a person's sign-off")
    assert "next: " in ran.err
    assert not (place.workspace / "out/a.txt").exists()
    told = place.remit("call", "good.save", '{"path": "a.txt", "text": "x"}', "--json", expect=3).json
    assert told["status"] == "parked" and told["result"] is None


def test_unattended_deny_refuses(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    made.configure('unattended = "park"', 'unattended = "deny"')
    ran = made.remit("call", "good.save", '{"path": "a.txt", "text": "x"}', expect=1)
    assert ran.err.startswith("denied: Denied by policy")


def test_a_rule_that_the_remedy_shows_allows_the_call(tmp_path: Path) -> None:
    made = home(tmp_path, "files")
    arguments = '{"path": "a.txt", "content": "x"}'
    parked = made.remit("call", "files.write_file", arguments, expect=3)
    assert not (made.workspace / "a.txt").exists()
    start = parked.err.index("[[rule]]")
    rule = "\n".join(line.strip() for line in parked.err[start:].splitlines()[:4])
    with (made.folder / "remit.toml").open("a") as file:
        file.write(f"\n{rule}\n")
    untrusted = made.remit("call", "files.write_file", arguments, expect=4)
    assert "run `remit apply`" in untrusted.err
    made.remit("apply", "--yes")
    made.remit("call", "files.write_file", arguments)
    assert (made.workspace / "a.txt").read_text() == "x"


def test_read_only_mode_refuses_what_writes(place: Home) -> None:
    ran = place.remit("call", "good.save", '{"path": "a.txt", "text": "x"}', "--read-only", expect=1)
    assert "read-only mode: good.save does more than read" in ran.err
    assert "next: run it without --read-only" in ran.err
    assert place.remit("call", "good.read", '{"path": "notes.txt"}', "--read-only=strict").out == "three apples\n"


def test_progress_goes_to_standard_error(place: Home) -> None:
    ran = place.remit("call", "slow.patient", '{"steps": 3, "pause": 0.01}')
    assert ran.out == "3\n"
    assert "  slow.patient: step 2 of 3" in ran.err


def test_follow_up_calls_are_shown(place: Home) -> None:
    ran = place.remit("call", "good.chain", '{"first": 5}')
    assert ran.out.splitlines() == ["asked", "[follow-up good.add: ok] 6.0", "[follow-up good.add: ok] 7.0"]


def test_hostile_text_is_made_visible(place: Home) -> None:
    ran = place.remit("call", "hostile.odd", '{"kind": "null"}')
    assert ran.out == "a\\x00b\\x1b[31m\\u202e\n"


def test_a_parked_call_runs_in_its_session_once_it_is_approved(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    call = ("call", "files.write_file", '{"path": "a.txt", "content": "hi"}')
    parked = here.remit(*call, "--json", expect=3).json
    (asked,) = here.remit("signoff", "list", "--json").json
    shown = here.remit("signoff", "show", asked["id"], "--json").json
    here.remit("signoff", "approve", asked["id"], "--digest", shown["digest"])
    here.remit(*call, expect=3)
    assert not (here.folder / "workspace/a.txt").exists()
    here.remit(*call, "--session", parked["session"])
    assert (here.folder / "workspace/a.txt").read_text() == "hi"
    here.remit(*call, "--session", parked["session"], expect=3)


def test_an_option_that_call_has_not_leads_to_the_help_of_call(place: Home) -> None:
    ran = place.remit("call", "files.read_file", "{}", "--yes", expect=2)
    assert "remit call: unrecognized arguments: --yes" in ran.err and "try: remit call --help" in ran.err


def test_many_packs_that_are_left_out_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from remit.cli.opening import _warn_some
    from remit.packs.installed import PackProblem

    problems = [PackProblem(pack=name, distribution=name, reason="it broke", remedy="") for name in "abcde"]
    _warn_some(problems, "c")
    err = capsys.readouterr().err
    assert "left out: pack c: it broke" in err and "left out: 4 packs, whole or in part (a, b, d, ...)" in err
    assert err.count("left out: ") == 2
    _warn_some(problems[:3], "")
    assert capsys.readouterr().err.count("left out: pack ") == 3
