"""`remit packs add`, `remove`, `upgrade`, `rollback` and `remit sync` as a person uses them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.cli.main import run
from remit.installing.environment import Environment
from remit.installing.place import Place
from tests.index_parts import (
    RUN,
    copied,
    environment_at,
    index_variables,
    new_environment,
    pack_wheel,
    prepared,
    site_names,
    skill,
    write_wheel,
)
from tests.packaging import ROOT

WIDER = [*RUN, skill("look", effect="external", uses='"net"')]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment that has tide 1.0 and ebb 1.0."""

    def wheels(index: Path) -> None:
        pack_wheel(index)
        pack_wheel(index, "ebb")

    return prepared(tmp_path_factory.mktemp("base"), wheels, "remit-tide", "remit-ebb")


@pytest.fixture
def place(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A copy of it, in which this test stands; `remit` believes that it runs in its environment."""
    made = copied(base, tmp_path, monkeypatch)
    monkeypatch.setattr(Environment, "here", lambda: made.environment)
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def index(place: Place) -> Path:
    return Path(place.folder).with_name("index")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    return out + err


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_add_shows_everything_asks_once_and_installs(
    place: Place, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(index, "moon", "1.0", {"moon.py": ""}, groups={"pytest11": {"moon": "moon"}})
    pack_wheel(index, "gale", requires=["moon"], skills=WIDER, net='"a.example:443"')
    names = site_names(place)
    assert run(["packs", "add", "remit-gale"]) == 4
    text = said(capsys)
    for line in (
        "to install: remit-gale 1.0 (pack gale;",
        "to install: moon 1.0 (a library, which it needs;",
        "may connect to a.example on port 443",
        "note: moon 1.0: it has an entry point of group pytest11",
        "nobody is there to agree; --yes accepts what is shown",
        "nothing was installed",
    ):
        assert line in text, text
    assert site_names(place) == names
    assert run(["packs", "add", "remit-gale", "--skills", "run", "--yes"]) == 0
    assert "installed moon 1.0\nenabled gale: run\n" in said(capsys)
    assert place.files().config.config.packs["gale"].skills == ("run",)


def test_a_look_alike_is_not_fetched_on_yes_alone(
    place: Place, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack_wheel(index, "tides")
    assert run(["packs", "add", "remit-tides", "--yes"]) == 1
    text = said(capsys)
    assert "careful: remit-tides looks like remit-tide, a name that is known here: one letter differs" in text
    assert "nothing was fetched" in text


def test_upgrade_says_by_its_exit_code_what_waits(
    place: Place, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["packs", "upgrade", "ebb", "--check"]) == 0
    assert "ebb: 1.0 is the newest" in said(capsys)
    pack_wheel(index, version="1.1", skills=WIDER, net='"a.example:443"')
    assert run(["packs", "upgrade", "tide", "--check", "--json"]) == 4
    (row,) = told(capsys)["packs"]
    assert (row["old"], row["new"], row["taken"], row["waiting"]) == ("1.0", "1.1", False, ["look"])
    assert {"rank": "widens", "line": "skill look is new"} in row["changes"]
    assert run(["packs", "upgrade", "tide"]) == 4
    text = said(capsys)
    assert "+ skill look is new" in text
    assert "upgraded tide to 1.1: run" in text and "unchanged skills go on; only look waits" in text
    assert "waiting for you: look\n  next: remit packs enable tide --skills run,look" in text


def test_one_pack_that_cannot_be_upgraded_keeps_no_other_from_it(
    place: Place, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack_wheel(index, "ebb", "1.1", files={"x.pth": "import os"})
    pack_wheel(index, version="1.1")
    assert run(["packs", "upgrade"]) == 1
    text = said(capsys)
    assert "error: pack ebb: nothing was installed:\n  remit-ebb 1.1: it installs the start-up file" in text
    assert "upgraded tide to 1.1: run" in text


def test_sync_says_how_every_pack_stands(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sync", "--locked"]) == 0
    assert "tide  remit-tide    1.0      ok" in said(capsys)
    shutil.rmtree(place.environment.site / "remit_tide")
    assert run(["sync", "--json"]) == 0
    found = told(capsys)
    assert found["installed"] == [{"distribution": "remit-tide", "version": "1.0"}]
    assert {row["state"] for row in found["packs"]} == {"ok"}
    assert not found["lock_changed"]
    config = Path(place.folder, "remit.toml")
    config.write_text(config.read_text() + "\n[packs.moon]\nenabled = true\n")
    assert run(["trust", "--yes"]) == 0
    said(capsys)
    assert run(["sync"]) == 1
    assert "pack moon: nothing of it is locked\n  next: remit packs add" in said(capsys)


def test_what_the_document_shows_runs(place: Place, index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "deploy.md").read_text("utf-8").partition("## Installing packs")[2]
    block = text.partition("```sh\n")[2].partition("```")[0]
    commands = [shlex.split(line, comments=True)[1:] for line in block.splitlines()]
    assert len(commands) == 9
    for command in commands:
        if command == ["packs", "upgrade", "--check"]:
            pack_wheel(index, version="1.1")
        agreed = [] if command[-1] == "--check" or command[0] == "sync" else ["--yes"]
        assert run([*command, *agreed]) == 0, (command, said(capsys))
    text = said(capsys)
    for line in (
        "tide: 1.0 -> 1.1",
        "upgraded tide to 1.1: run",
        "(pack tide, instead of 1.1;",
        "installed remit-tide 1.0\nenabled tide: run\n",
        "to uninstall: remit-tide 1.0",
        "removed tide; back with: remit packs rollback tide",
    ):
        assert line in text, text
    assert place.environment.installed()["remit-tide"].version == "1.0"


def test_without_pip_the_way_to_get_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pip", None)
    for command in (["packs", "add", "remit-tide"], ["packs", "upgrade"], ["sync"]):
        assert run(command) == 1
        text = said(capsys)
        assert "has no pip" in text
        assert "python -m ensurepip --upgrade" in text


def test_the_whole_way_in_processes_of_their_own(base: Path, tmp_path: Path) -> None:
    """A clone on another machine: trusted, synced, called."""
    clone, environment = tmp_path / "clone", new_environment(tmp_path / "env")
    shutil.copytree(base / "deployment", clone)
    variables = {"REMIT_STATE": str(tmp_path / "state"), **index_variables(base / "index")}
    python = environment_at(environment.prefix).python

    def remit(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [python, "-m", "remit", *arguments]
        return subprocess.run(command, cwd=clone, env=variables, capture_output=True, text=True, timeout=100)

    refused = remit("sync", "--locked")
    assert (refused.returncode, "nobody has accepted it" in refused.stderr) == (1, True), refused
    variables["REMIT_TRUST"] = remit("trust", "--show").stdout.strip()
    synced = remit("sync", "--locked")
    assert synced.returncode == 0, synced
    assert "installed remit-tide 1.0\n" in synced.stdout
    called = remit("call", "tide.run", '{"place": "quay"}')
    assert (called.returncode, "quay 1.0" in called.stdout) == (0, True), called
