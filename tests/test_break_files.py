"""Files in strange shapes where Remit expects its own: each is named or passed over, and nothing hangs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.cli.main import run
from remit.deployment.glance import locked_manifests, locked_versions
from remit.deployment.try_pack import development_pack
from remit.errors import DeploymentError, PackError
from remit.plain_file import read_plain
from remit.state_folder import find_state, open_state, person_key

NESTED = "a = " + "[" * 5000 + "]" * 5000
MANIFEST = """\
manifest = 1
[pack]
name = "greet"
[[skill]]
name = "hello"
handler = "remit_greet.skills:hello"
effect = "read"
"""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


SPECIAL = pytest.mark.parametrize("make", [pipe, device, loop], ids=lambda make: make.__name__)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    folder = tmp_path / "deployment"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "remit-greet" / "src" / "remit_greet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "skills.py").write_text('def hello(name: str) -> str:\n    """Greet."""\n    return name\n')
    (package / "pack.toml").write_text(MANIFEST)
    return tmp_path / "remit-greet"


@SPECIAL
def test_only_a_regular_file_is_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError):
        read_plain(tmp_path / "file", 10)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10)
    assert read_plain(tmp_path / "file", 10) == b"x" * 10
    with pytest.raises(OSError, match="larger"):
        read_plain(tmp_path / "file", 9)


@SPECIAL
def test_a_listing_does_not_wait_for_a_lock_that_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "remit.lock")
    assert locked_versions(tmp_path) == {} == locked_manifests(tmp_path)


@SPECIAL
@pytest.mark.parametrize("name", ["folder.json", "accepted.json"])
def test_a_state_in_another_shape_is_no_state(make: Callable[[Path], None], name: str, place: Path) -> None:
    assert run(["init", "--yes"]) == 0
    state = open_state(place)
    (state.path / name).unlink()
    make(state.path / name)
    assert run(["trust", "--show"]) == 0
    assert run(["policy", "check"]) != 0
    assert (find_state(place) is None) == (name == "folder.json")


def test_an_acceptance_of_great_depth_is_none(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "--yes"])
    (open_state(place).path / "accepted.json").write_text('{"body":' * 5000 + "1" + "}" * 5000)
    assert run(["policy", "check"]) == 1
    assert "remit trust" in capsys.readouterr().err


def test_an_acceptance_that_cannot_be_written_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "--yes"])
    kept = open_state(place).path / "accepted.json"
    kept.unlink()
    kept.mkdir()
    assert run(["trust", "--yes"]) == 1
    assert f"{kept} cannot be written" in capsys.readouterr().err


def test_a_key_that_is_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    pipe(tmp_path / "state" / "key")
    with pytest.raises(DeploymentError, match="regular"):
        person_key()


def test_a_project_of_great_depth_is_named(project: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text(NESTED)
    for command in ("inspect", "schema"):
        assert run(["packs", command, str(project)]) == 1
        assert "pyproject.toml cannot be read" in capsys.readouterr().err
    with pytest.raises(PackError):
        development_pack(project)


@pytest.mark.parametrize(
    ("make", "name"),
    [(pipe, "pyproject.toml"), (pipe, "src/remit_greet/extra.py"), (loop, "src/remit_greet/extra.py")],
)
def test_a_check_waits_for_nothing(make: Callable[[Path], None], name: str, project: Path, place: Path) -> None:
    make(project / name)
    assert run(["packs", "check", str(project)]) == 1


def test_a_project_does_not_write_lines_of_ours(project: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[project]\nname = "remit-greet"\nversion = "1\\nskill greet.hello:\\n  has no right at all"\n'
    (project / "pyproject.toml").write_text(text)
    run(["packs", "inspect", str(project)])
    assert "\n  has no right at all" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["cases.toml", "cases.jsonl"])
def test_cases_of_great_depth_are_named(name: str, place: Path) -> None:
    (place / name).write_text(NESTED if name.endswith("toml") else "[" * 5000)
    assert run(["policy", "test", name]) == 2


def test_an_empty_name_switches_nothing_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "--yes"])
    assert run(["kill"]) == 0
    assert run(["kill", "", "--restore"]) == 2  # as in remit kill "$PACK" --restore, without a PACK
    capsys.readouterr()
    assert run(["kill", "--list"]) == 0
    assert "everything" in capsys.readouterr().out
    assert run(["kill", "--restore", "--json"]) == 0
    assert '"restored": true' in capsys.readouterr().out
