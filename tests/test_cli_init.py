"""`remit init`: a deployment from nothing, and from what somebody already has."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.command import bare
from tests.in_process import remit
from tests.terminal import on_terminal


def test_the_defaults_make_a_deployment_that_opens(tmp_path: Path) -> None:
    ran = remit("init", "--yes", "--enforcement", "available", folder=tmp_path)
    assert "made " in ran.out and "next: remit packs list" in ran.out
    assert (tmp_path / "workspace").is_dir()
    assert tomllib.loads((tmp_path / "remit.toml").read_text())["defaults"]["unattended"] == "park"
    assert "No skill can be called" in remit("audit", folder=tmp_path).out


def test_options_are_written(tmp_path: Path) -> None:
    arguments = ("--workspace", "files", "--model", "tiny", "--base-url", "http://127.0.0.1:9/v1")
    remit("init", "--yes", "--enforcement", "available", *arguments, "--api-key", "env:KEY", folder=tmp_path)
    written = tomllib.loads((tmp_path / "remit.toml").read_text())
    assert written["workspace"] == "files"
    assert written["model"]["name"] == "tiny" and written["model"]["api_key"] == "env:KEY"
    assert (tmp_path / "files").is_dir()


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    remit("init", "--yes", "--enforcement", "available", folder=tmp_path)
    before = (tmp_path / "remit.toml").read_bytes()
    ran = remit("init", "--yes", "--enforcement", "available", "--workspace", "other", folder=tmp_path, expect=None)
    assert ran.code in (1, 2) and "remit.toml" in ran.err
    assert (tmp_path / "remit.toml").read_bytes() == before


def test_a_key_itself_is_refused_and_never_shown(tmp_path: Path) -> None:
    arguments = ("--model", "m", "--api-key", "sk-secret-1")
    ran = remit("init", "--yes", "--enforcement", "available", *arguments, folder=tmp_path, expect=2)
    assert "--api-key" in ran.err and "sk-secret-1" not in ran.err
    assert not (tmp_path / "remit.toml").exists()


def test_an_unknown_pack_makes_nothing(tmp_path: Path) -> None:
    ran = remit("init", "--yes", "--enforcement", "available", "--packs", "nosuch", folder=tmp_path, expect=2)
    assert "nosuch" in ran.err
    assert not (tmp_path / "remit.toml").exists()


def test_a_broken_pack_is_left_out_and_the_rest_is_made(tmp_path: Path) -> None:
    made = bare(tmp_path, "good", "raises_at_import")
    ran = made.remit("init", "--yes", "--enforcement", "available", "--packs", "good,raises", expect=1)
    assert "enabled good" in ran.out
    assert "left out: pack raises: pack raises cannot be imported" in ran.err
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_another_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    remit("init", "--yes", "--enforcement", "available", "-C", "there", folder=tmp_path)
    assert (tmp_path / "there/remit.toml").is_file() and not (tmp_path / "remit.toml").exists()
    missing = remit("init", "--yes", "-C", "nowhere", folder=tmp_path, expect=None)
    assert missing.code in (1, 2) and "nowhere" in missing.err


def test_packs_may_be_separated_by_spaces(tmp_path: Path) -> None:
    made = bare(tmp_path, "good", "slow")
    ran = made.remit("init", "--yes", "--enforcement", "available", "--packs", "good slow")
    assert "enabled good\nenabled slow\n" in ran.out


def test_answers_that_make_no_sense_are_asked_again(tmp_path: Path) -> None:
    environment = {"REMIT_STATE": str(tmp_path / "state")}
    folder = tmp_path / "deployment"
    folder.mkdir()
    with on_terminal("init", "--enforcement", "available", folder=folder, environment=environment) as terminal:
        terminal.wait_for("workspace [workspace]: ")
        terminal.type("\n")
        terminal.wait_for("endpoint (")
        terminal.type("99\n")
        terminal.wait_for("there is no number 99 in the list")
        terminal.wait_for("endpoint (", count=2)
        terminal.type("nonsense\n")
        terminal.wait_for("is no http or https URL")
        terminal.wait_for("endpoint (", count=3)
        terminal.type("none\n")
        terminal.wait_for("packs to enable")
        terminal.type("calk files\n")
        terminal.wait_for("no pack named 'calk' is installed; did you mean calc?")
        terminal.wait_for("packs to enable", count=2)
        terminal.type("calc files\n")
        terminal.wait_for("Make this? [y/N] ")
        terminal.type("y\n")
        assert terminal.finish() == 0
    written = tomllib.loads((folder / "remit.toml").read_text())
    assert "base_url" not in written["model"]
    assert set(written["packs"]) == {"calc", "files"}


def test_packs_are_named_with_spaces_or_commas(tmp_path: Path) -> None:
    for number, packs in enumerate((["calc", "clock"], ["calc,clock"], ["calc,", "clock"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        ran = remit("init", "--yes", "--enforcement", "available", "--packs", *packs, folder=folder)
        assert "enabled calc" in ran.out and "enabled clock" in ran.out
