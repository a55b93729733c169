"""The person's state folder: where it is, who may write there, and how a deployment is known."""

from __future__ import annotations

import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remit.errors import DeploymentError
from remit.state_folder import data_folder, find_state, open_state, person_key, private_folder, state_root


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_variable_moves_the_state(private_state: Path) -> None:
    assert state_root() == private_state


def test_a_relative_state_folder_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_STATE", "somewhere/else")
    with pytest.raises(DeploymentError) as caught:
        state_root()
    assert "REMIT_STATE" in caught.value.remedy


def _nobody(user: int) -> object:
    raise KeyError(user)


def test_a_user_without_a_home_is_told_about_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMIT_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_root().is_absolute()
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _nobody)
    with pytest.raises(DeploymentError) as caught:
        state_root()
    assert "REMIT_STATE" in caught.value.remedy


def test_a_deployment_keeps_its_id_and_is_private(tmp_path: Path) -> None:
    assert find_state(tmp_path) is None
    state = open_state(tmp_path)
    assert open_state(tmp_path) == find_state(tmp_path) == state
    assert len(state.id) == 32
    assert mode(state.path) == 0o700
    assert state.path.is_relative_to(state_root())


def test_a_copy_and_a_moved_folder_are_other_deployments(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    state = open_state(first)
    shutil.copytree(first, tmp_path / "copy")
    assert open_state(tmp_path / "copy").id != state.id
    first.rename(tmp_path / "moved")
    assert find_state(tmp_path / "moved") is None


def test_a_link_to_the_folder_is_the_same_deployment(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert open_state(tmp_path / "real").id == open_state(tmp_path / "link").id


def test_another_folder_at_the_same_path_is_another_deployment(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    state = open_state(place)
    place.rename(tmp_path / "old")
    place.mkdir()
    assert open_state(place).id != state.id


def test_a_damaged_index_gives_a_new_id(tmp_path: Path, private_state: Path) -> None:
    state = open_state(tmp_path)
    for entry in (private_state / "folders").iterdir():
        entry.write_text("../../elsewhere")
    assert find_state(tmp_path) is None
    assert open_state(tmp_path).id != state.id


def test_many_at_once_agree_on_one_id_and_one_key(tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(5)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: person_key(), range(16)))
        for place in places:
            assert len(set(pool.map(lambda _, place=place: open_state(place).id, range(16)))) == 1
    assert len(keys) == 1


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o755)
    assert private_folder(place) == place
    place.chmod(0o777)
    with pytest.raises(DeploymentError, match="others may write"):
        private_folder(place)


def test_the_key_is_made_once_and_is_private(private_state: Path) -> None:
    key = person_key()
    assert person_key() == key
    assert len(key) == 32
    assert mode(private_state / "key") == 0o600


def test_a_damaged_key_is_an_error(private_state: Path) -> None:
    person_key()
    (private_state / "key").write_bytes(b"short")
    with pytest.raises(DeploymentError, match="damaged"):
        person_key()


def test_each_pack_and_principal_has_its_own_data(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    folders = {data_folder(state, pack, who) for pack in ("files", "notes") for who in ("ann", "../bob")}
    assert len(folders) == 4
    assert all(mode(folder) == 0o700 and folder.is_relative_to(state.path) for folder in folders)
    assert data_folder(state, "files", "ann") in folders
