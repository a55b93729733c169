"""`remit kill`: at once, with a typing error named, also where `remit.toml` is broken."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.in_process import Here
from tests.packaging import build_site


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return Here(place=tmp_path_factory.mktemp("kill")).make("calc")


def test_a_skill_a_pack_and_everything(here: Here) -> None:
    call = ("call", "calc.evaluate", '{"expression": "1+1"}')
    here.remit(*call)
    for name in (["calc.evaluate"], []):
        told = here.remit("kill", *name, "--reason", "it\nmisbehaves\u202e")
        assert "switched off here: it misbehaves" in told.out and "\u202e" not in told.out
        assert "--restore" in told.err
        refused = here.remit(*call, expect=1)
        assert "denied: Denied by Remit: " in refused.err and "misbehaves" in refused.err
        assert "remit kill" in refused.err
        here.remit("kill", *name, "--restore")
        here.remit(*call)
    events = [record["event"] for record in here.remit("log", "list", "--event", "pack.", "--json").json]
    assert events == ["pack.killed", "pack.restored"] * 2


def test_a_call_in_another_process_is_ended(tmp_path: Path) -> None:
    here = Here(place=tmp_path)
    here.folder.mkdir()
    build_site(tmp_path, "slow").rename(here.site)
    here.make("slow")
    environment = {**os.environ, "REMIT_STATE": str(tmp_path / "state"), "PYTHONPATH": str(here.site)}
    command = [sys.executable, "-m", "remit", "call", "slow.sleep", '{"seconds": 25}']
    running = subprocess.Popen(command, cwd=here.folder, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(400):
            if here.remit("log", "list", "--event", "call.started", "--json").json:
                break
            time.sleep(0.05)
        here.remit("kill", "slow", "--reason", "stuck")
        _, told = running.communicate(timeout=20)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 1 and "was ended while it ran: slow is switched off here: stuck" in told


def test_the_list_says_who_since_when_and_why(here: Here) -> None:
    assert here.remit("kill", "--list").out == "nothing is switched off\n"
    here.remit("kill", "calc", "--reason", "look")
    assert "look" in here.remit("kill", "--list").out
    (one,) = here.remit("kill", "--list", "--json").json
    assert (one["name"], one["reason"], bool(one["who"]), one["when"] > 0) == ("calc", "look", True, True)
    assert "calc is switched off here: look" in here.remit("audit").out
    assert "switched on again" in here.remit("kill", "--restore").out
    assert "is not switched off" in here.remit("kill", "calc", "--restore").out


def test_what_stays_off_after_a_restore_is_said(here: Here) -> None:
    here.remit("kill", "calc")
    assert "SWITCHED OFF" in here.remit("packs", "list").out
    here.remit("kill")
    told = here.remit("kill", "calc.evaluate", "--restore", expect=1)
    assert "every skill is switched off" in told.err and "remit kill --restore" in told.err and not told.out
    assert here.remit("kill", "calc", "--restore", "--json", expect=1).json["off"]["name"] == "*"
    here.remit("kill", "--restore")
    here.remit("kill", "calc.evaluate")
    assert "enabled, SWITCHED OFF: evaluate" in here.remit("packs", "list").out
    (calc,) = (one for one in here.remit("packs", "list", "--json").json["packs"] if one["pack"] == "calc")
    assert calc["switched_off"] == ["calc.evaluate"]
    here.remit("kill", "--restore")
    assert "SWITCHED OFF" not in here.remit("packs", "list").out


@pytest.mark.parametrize(("name", "near"), [("clac", "'calc'"), ("calc.evalute", "'calc.evaluate'"), ("zzz", "zzz")])
def test_a_typing_error_stops_nothing_and_is_said(here: Here, name: str, near: str) -> None:
    told = here.remit("kill", name, expect=2)
    assert near in told.err and "remit packs list" in told.err and "everything" not in told.err
    assert here.remit("kill", "--list").out == "nothing is switched off\n"


def test_it_works_while_remit_toml_is_broken(here: Here) -> None:
    text = here.config
    (here.folder / "remit.toml").write_text("oh no")
    here.remit("kill", "calc")
    assert "calc" in here.remit("kill", "--list").out
    (here.folder / "remit.toml").write_text(text)
    here.remit("kill", "--restore")


def test_where_there_is_no_deployment_there_is_nothing_to_stop(tmp_path: Path) -> None:
    here = Here(place=tmp_path)
    here.folder.mkdir()
    assert "there is no remit.toml" in here.remit("kill", expect=1).err
