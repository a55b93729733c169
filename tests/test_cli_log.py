"""`remit log` as a command: what is on record after real calls and runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.model_server import calls, serve, text

KEY = "sk-THISISNOTAREALKEY1234567890"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("log"), "good", fixtures=("good",))
    made.remit("call", "good.add", '{"a": 2, "b": 3}')
    made.remit("call", "good.greet", "{}", expect=2)
    with serve([calls(("good__greet", {"name": "北京"})), text(f"Done, with {KEY}.")]) as server:
        arguments = ("--model", "m", "--base-url", server.base_url, "--session", "talk-1", "--keep-raw")
        ran = made.remit("run", f"Greet. My password: {KEY}", *arguments)
        assert KEY in ran.out
    return made


def test_the_list_is_grouped_by_session_and_readable(place: Home) -> None:
    shown = place.remit("log", "list").out
    assert "  session talk-1  " in shown
    assert '  call.proposed  good.add  {"a": 2, "b": 3}' in shown
    assert "call.finished  good.add  ok: 5.0" in shown
    assert "invalid: The arguments" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_run_is_read_as_it_went(place: Home) -> None:
    shown = place.remit("log", "replay", "talk").out
    told = (
        "question",
        "Greet. My password",
        "turn 1 of m",
        "call good.greet",
        "北京",
        "allow (default read)",
        "ok after",
    )
    places = [shown.index(one) for one in (*told, "Hello, 北京", "turn 2 of m", "Done, with", "answer")]
    assert places == sorted(places)


def test_raw_requests_and_replies_are_kept_when_asked(place: Home) -> None:
    talk = place.remit("log", "list", "--session", "talk-1", "--event", "turn.", "--json").json
    raw = [record["body"]["raw"] for record in talk]
    assert any("Greet." in one for one in raw) and any("good__greet" in one for one in raw)
    shown = place.remit("log", "show", str(talk[0]["seq"])).out
    assert "  raw          {" in shown and "Greet." in shown


def test_a_key_is_in_no_file_of_the_state_and_on_no_page(place: Home) -> None:
    """Case E152: the database, its write-ahead log, the standard streams of the log."""
    folder = Path(place.environment["REMIT_STATE"])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "state.db" for path in files)
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    for action in (("list",), ("replay", "talk-1", "--full"), ("export", "--payloads"), ("tail", "--json")):
        ran = place.remit("log", *action)
        assert KEY not in ran.out + ran.err
    assert "[redacted: key]" in place.remit("log", "replay", "talk-1").out


def test_show_prints_one_record_whole(place: Home) -> None:
    record = place.remit("log", "list", "--skill", "good.add", "--json").json[0]
    shown = place.remit("log", "show", str(record["seq"]), "--json").json
    assert shown == record and record["event"] == "call.proposed"
    assert datetime.fromisoformat(record["at"]).timestamp() == pytest.approx(record["time"], abs=0.001)
    assert f"record {record['seq']}  call.proposed" in place.remit("log", "show", str(record["seq"])).out


@pytest.mark.parametrize(
    "arguments", [["show", "9999"], ["show", "0"], ["list", "--limit", "0"], ["list", "--verdict", "maybe"], ["show"]]
)
def test_what_is_not_there_is_named(place: Home, arguments: list[str]) -> None:
    ran = place.remit("log", *arguments, expect=2)
    assert ran.out == "" and ran.err


def test_what_is_configured_is_pruned_and_only_where_it_was_accepted(place: Home) -> None:
    assert "keep_days = 90" in place.remit("log", "prune", expect=2).err
    path = place.folder / "remit.toml"
    before = path.read_text()
    path.write_text(before + "\n[log]\nkeep_days = 0.0000001\n")
    assert place.remit("log", "prune", expect=None).code in (1, 5)
    path.write_text(before)


def test_without_a_deployment_there_is_no_log(tmp_path: Path) -> None:
    from tests.command import remit

    ran = remit("log", "list", folder=tmp_path, expect=1)
    assert "there is no remit.toml" in ran.err and "remit init" in ran.err
