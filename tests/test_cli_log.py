"""`remit log`: what is on record after calls and runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.model_server import calls, serve, text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("log"), "good", fixtures=("good",))
    made.remit("call", "good.add", '{"a": 2, "b": 3}')
    made.remit("call", "good.greet", "{}", expect=2)
    with serve([calls(("good__greet", {"name": "北京"})), text("Done.")]) as server:
        arguments = ("--model", "m", "--base-url", server.base_url, "--session", "talk-1", "--keep-raw")
        made.remit("run", "Greet.", *arguments)
    return made


def test_the_list_is_grouped_by_session_and_readable(place: Home) -> None:
    shown = place.remit("log", "list").out
    assert ", session talk-1\n" in shown
    assert '  call.proposed   good.add              {"a": 2, "b": 3}' in shown
    assert "call.finished   good.add              ok: 5.0" in shown
    assert "invalid: The arguments do not fit" in shown
    assert max(map(len, shown.splitlines())) <= 110


def test_the_list_can_be_narrowed(place: Home) -> None:
    everything = place.remit("log", "list", "--json").json
    assert [record["seq"] for record in everything] == sorted(record["seq"] for record in everything)
    talk = place.remit("log", "list", "--session", "talk-1", "--json").json
    assert {record["session"] for record in talk} == {"talk-1"}
    assert {"turn.request", "turn.reply", "call.proposed", "call.finished"} <= {record["event"] for record in talk}
    started = place.remit("log", "list", "--event", "call.", "--skill", "good.add", "--json").json
    assert {record["skill"] for record in started} == {"good.add"}
    assert len(place.remit("log", "list", "--limit", "2", "--json").json) == 2
    assert place.remit("log", "list", "--limit", "1", "--json").json[0]["seq"] == everything[-1]["seq"]
    assert place.remit("log", "list", "--session", "none").out == "no record fits\n"


def test_raw_requests_and_replies_are_kept_when_asked(place: Home) -> None:
    talk = place.remit("log", "list", "--session", "talk-1", "--json").json
    raw = [record["body"]["raw"] for record in talk if record["event"].startswith("turn.")]
    assert any("Greet." in one for one in raw) and any("good__greet" in one for one in raw)


def test_show_prints_one_record_whole(place: Home) -> None:
    record = place.remit("log", "show", "1", "--json").json
    assert record["seq"] == 1 and record["event"] == "call.proposed"
    assert place.remit("log", "show", "1").json == record
    assert datetime.fromisoformat(record["at"]).timestamp() == pytest.approx(record["time"], abs=0.001)


@pytest.mark.parametrize("arguments", [["show", "9999"], ["show", "0"], ["show", "-1"], ["list", "--limit", "0"]])
def test_what_is_not_there_is_named(place: Home, arguments: list[str]) -> None:
    ran = place.remit("log", *arguments, expect=2)
    assert ran.out == "" and ran.err


def test_without_a_deployment_there_is_no_log(tmp_path: Path) -> None:
    from tests.command import remit

    ran = remit("log", "list", folder=tmp_path, expect=1)
    assert "there is no remit.toml" in ran.err and "remit init" in ran.err
