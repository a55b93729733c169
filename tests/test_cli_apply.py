"""`remit apply`: shows what an edit changes, and accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.in_process import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(place=tmp_path).make("calc")


def test_an_edit_is_shown_ranked_and_accepted(here: Here) -> None:
    assert "nothing to apply" in here.remit("apply").out
    here.edit('write = "ask"', 'write = "allow"')
    refused = here.remit("apply", expect=4)
    assert "+ default for write: ask becomes allow" in refused.out and "not accepted" in refused.err
    here.remit("audit", expect=4)
    assert "applied" in here.remit("apply", "--yes").out
    here.remit("audit")
    here.edit('read = "allow"', 'read = "ask"')
    assert "- default for read" in here.remit("apply").out
    here.edit("[model]\n", '[model]\ndialect = "auto"\n')
    told = here.remit("apply", "--json", expect=5).json
    assert (told["applied"], told["rank"]) == (False, "unranked")
    assert here.remit("apply", "--json", "--yes").json["applied"] is True
    assert here.remit("trust").out == "accepted already; nothing changed since\n"


def test_what_was_never_accepted_is_for_trust(tmp_path: Path) -> None:
    here = Here(place=tmp_path)
    here.folder.mkdir()
    (here.folder / "remit.toml").write_text("policy = 1\n")
    told = here.remit("apply", expect=1)
    assert "never accepted" in told.err and "remit trust" in told.err


def test_a_lock_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    made = Here(place=tmp_path).make("calc")
    lock = made.folder / "remit.lock"
    lock.rename(tmp_path / "kept")
    told = made.remit("audit", expect=5).err
    assert "remit.lock is gone" in told and "from version control" in told
    assert "remit.lock is gone" in made.remit("apply", expect=None).err
    (tmp_path / "kept").rename(lock)
    assert "gone" not in made.remit("audit").err
