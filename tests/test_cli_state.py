"""`remit state`: what is kept, and nothing removed without saying what."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from remit.state.store import State
from tests.in_process import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(place=tmp_path).make()


def kept(here: Here) -> list[dict[str, object]]:
    found: list[dict[str, object]] = here.remit("state", "list", "--json").json["kept"]
    return found


def test_everything_is_listed_with_its_size_and_age(here: Here) -> None:
    (here.folder / "workspace" / "a.txt").write_text("12345")
    here.remit("packs", "list")
    shown = here.remit("state", "list").out
    assert str(here.folder) in shown and "workspace of" in shown and "5 bytes, yours" in shown
    (one,) = [row for row in kept(here) if row["kind"] == "deployment"]
    assert one["folder"] == str(here.folder) and one["workspace"] == 5
    assert isinstance(one["size"], int) and isinstance(one["log"], int) and one["size"] > one["log"] > 0


def test_clean_takes_what_belongs_to_nobody_and_leaves_the_rest(here: Here) -> None:
    gone = Here(place=here.place / "other", environment={"REMIT_STATE": str(here.place / "state")})
    gone.place.mkdir()
    gone.make()
    shutil.rmtree(gone.folder)
    assert sorted(str(row["kind"]) for row in kept(here) if row["kind"] != "index") == ["deployment", "orphan"]
    refused = here.remit("state", "clean", expect=1)
    assert "orphan" in refused.out and "a log" in refused.out and "nothing was removed" in refused.err
    here.remit("state", "clean", "--yes")
    assert [row["kind"] for row in kept(here)] == ["deployment"]
    here.remit("audit")
    assert not any(name.read_text() == "" for name in (here.place / "state" / "folders").iterdir())


def test_a_live_deployment_goes_only_when_asked_for_and_says_what_is_lost(here: Here) -> None:
    said = here.remit("state", "clean", "--all", expect=1).out
    assert "THE LOG of a deployment that is in use" in said and "remit trust" in said
    here.remit("state", "clean", "--all", "--yes")
    assert kept(here) == []
    assert "nobody has accepted it" in here.remit("audit", expect=1).err
    assert (here.folder / "workspace").is_dir()


def test_only_the_packs_own_data(here: Here) -> None:
    (state,) = (here.place / "state" / "deployments").iterdir()
    (state / "data" / "tide").mkdir(parents=True)
    (state / "data" / "tide" / "x").write_text("1")
    here.remit("state", "clean", "--data", "--yes")
    assert not (state / "data").exists() and (state / "state.db").exists()
    assert "nothing to remove" in here.remit("state", "clean", "--data").out


def test_a_state_in_use_is_not_removed(here: Here) -> None:
    (folder,) = (here.place / "state" / "deployments").iterdir()
    with State(folder) as state:
        assert state.owner.id
        assert "in use" in here.remit("state", "clean", "--all", "--yes", expect=1).err
    here.remit("state", "clean", "--all", "--yes")


def test_what_links_elsewhere_is_not_followed(here: Here) -> None:
    victim = here.place / "victim"
    victim.mkdir()
    (victim / "precious").write_text("1")
    (here.place / "state" / "deployments" / "f00").symlink_to(victim)
    here.remit("state", "clean", "--yes")
    here.remit("state", "clean", "--all", "--yes")
    assert (victim / "precious").exists()


def test_where_nothing_is_kept(tmp_path: Path) -> None:
    here = Here(place=tmp_path)
    here.folder.mkdir()
    assert "nothing is kept" in here.remit("state", "list").out
    assert "nothing is kept for" in here.remit("state", "clean", "--all", expect=1).err
