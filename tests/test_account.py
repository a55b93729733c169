"""Who runs a process is its account, whatever variables say; what was kept under another name is not lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.account import account, other_name
from remit.deployment.deployment import Deployment
from remit.deployment.init import init
from remit.pipeline.terminal import person
from remit.state_folder import StateFolder, data_folder, find_state

pwd = pytest.importorskip("pwd")
NOWHERE = Path("/nonexistent/remit.toml")


def test_variables_name_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setenv("LOGNAME", name)
    assert (account(), other_name()) == (name, "")
    monkeypatch.setenv("LOGNAME", "mallory")
    assert (account(), other_name()) == (name, "mallory")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_123)
    assert account() == "uid 4000123"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOGNAME", "mallory")
    init(tmp_path, enforcement="available").apply()
    return tmp_path


def opened(place: Path, principal: str | None = None) -> Deployment:
    return Deployment.open(place, managed=NOWHERE, paths=[], principal=principal)


def test_who_asks_and_who_signs_have_one_name(place: Path) -> None:
    """Else one person were two: the one for whom it is done, and the one who must be another."""
    with opened(place) as deployment, opened(place, "web user") as other:
        assert deployment.principal == person() == account()
        assert other.principal == "web user", "a program may say for whom"


def test_what_packs_kept_under_the_name_of_a_variable_is_told_and_never_taken(place: Path) -> None:
    state = find_state(place)
    assert isinstance(state, StateFolder)
    with opened(place) as deployment:
        assert deployment.notes == ()
    old = data_folder(state, "files", "mallory")
    (old / "notes").write_text("mine")
    with opened(place) as deployment:
        (note,) = deployment.notes
        new = data_folder(state, "files", account())
        assert f"rename {old} to {new}" in note and list(new.iterdir()) == []
    with opened(place, "mallory") as deployment:
        assert deployment.notes == ()
    new.rmdir()
    old.rename(new)
    with opened(place) as deployment:
        assert deployment.notes == () and (new / "notes").read_text() == "mine"
