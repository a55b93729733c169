"""Bad input gets a clear error and loses nothing: what happened, to which file, pack and key, and what to do."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.in_process import remit

COMMANDS = (["call", "good.add", '{"a": 1}'], ["audit"], ["run", "x", "--model", "m"], ["chat"])
CHANGES = (["packs", "enable", "good", "--yes"], ["packs", "disable", "good"], ["trust", "--yes"])


@pytest.fixture
def place(tmp_path: Path) -> Home:
    return home(tmp_path, "good", fixtures=("good",))


@pytest.mark.parametrize("arguments", [*COMMANDS, *CHANGES], ids=" ".join)
def test_a_missing_file_names_the_command_that_makes_one(tmp_path: Path, arguments: list[str]) -> None:
    ran = remit(*arguments, folder=tmp_path, expect=1)
    assert str(tmp_path) in ran.err and "remit.toml" in ran.err
    assert "next: " in ran.err and "remit init" in ran.err
    assert ran.out == "" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("policy = [", ["remit.toml"]),
        ("policy = 1\n[defaults]\nraed = 'allow'\n", ["remit.toml", "defaults.raed", "read"]),
        ("policy = 1\n[defaults]\nunattended = 'allow'\n", ["remit.toml", "defaults.unattended", "park"]),
        ("policy = 1\n[pakcs.good]\nenabled = true\n", ["remit.toml", "pakcs", "packs"]),
        ("policy = 2\n", ["remit.toml", "policy"]),
        ("", ["remit.toml", "policy"]),
        ("policy = 1\n[model]\napi_key = 'sk-secret-1'\n", ["remit.toml", "model.api_key"]),
        (
            "policy = 1\n[defaults]\nenforcement = 'available'\n[packs.good]\nenabled = true\n"
            "[[rule]]\nid = 'r'\nverdict = 'deny'\n"
            "match = { skill = 'good.add', arguments = { c = { eq = 1 } } }\n",
            ["rule r", "c", "next: "],
        ),
        ("policy = 1\n[packs.good]\nenabled = true\ngrant.net = ['example.org:443']\n", ["good", "net"]),
    ],
    ids=["toml", "key", "value", "table", "version", "empty", "secret", "rule", "grant"],
)
def test_a_broken_file_is_named_and_left_as_it_is(place: Home, text: str, says: list[str]) -> None:
    path = place.folder / "remit.toml"
    path.write_text(text)
    place.remit("trust", "--yes", expect=None)
    for arguments in (*COMMANDS[:2], CHANGES[0]):
        ran = place.remit(*arguments, expect=None)
        if arguments[0] == "packs" and ran.code == 0:
            continue  # enabling may be the very thing that mends it
        assert ran.code == 1, (arguments, ran)
        assert all(one in ran.err for one in says), (arguments, ran.err)
        assert "sk-secret-1" not in ran.err
        assert path.read_text() == text


def test_bytes_that_are_no_text_are_named(place: Home) -> None:
    (place.folder / "remit.toml").write_bytes(b"policy = 1 # \xff\n")
    assert "remit.toml" in place.remit("audit", expect=1).err
    assert (place.folder / "remit.toml").read_bytes() == b"policy = 1 # \xff\n"


@pytest.mark.parametrize("text", ["{", '{"lock": 99}', "\x00"])
def test_a_broken_lock_is_named(place: Home, text: str) -> None:
    (place.folder / "remit.lock").write_text(text)
    ran = place.remit("call", "good.add", '{"a": 1}', expect=1)
    assert "remit.lock" in ran.err and "next: " in ran.err


def test_a_lost_lock_leaves_the_pack_out_and_says_how_to_mend_it(place: Home) -> None:
    (place.folder / "remit.lock").unlink()
    ran = place.remit("call", "good.add", '{"a": 1}', expect=None)
    assert ran.code == 5 and ("remit packs enable good" in ran.err or "remit apply" in ran.err)
    place.remit("trust", "--yes", expect=None)
    place.remit("packs", "enable", "good", "--yes")
    assert place.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[packs.goood]\nenabled = true\n", "left out: pack goood: it is not installed; did you mean 'good'?"),
        ("[packs.good]\nenabled = true\nskills = ['ad']\n", "skills names 'ad', which is no skill of it; did you mean"),
    ],
    ids=["pack", "skill"],
)
def test_a_name_that_matches_nothing_is_never_passed_over(place: Home, text: str, says: str) -> None:
    (place.folder / "remit.toml").write_text(f"policy = 1\n[defaults]\nenforcement = 'available'\n{text}")
    place.remit("trust", "--yes")
    for arguments, code in ((COMMANDS[0], 1), (COMMANDS[1], 0)):
        assert says in place.remit(*arguments, expect=code).err


def test_a_workspace_that_is_gone_is_made_again(tmp_path: Path) -> None:
    made = home(tmp_path, "files")
    made.workspace.rmdir()
    assert made.remit("call", "files.list_files", "{}", "--json").json["result"]["entries"] == []
    assert made.workspace.is_dir()


def test_a_file_that_cannot_be_read_is_named(place: Home) -> None:
    assert place.remit("audit").code == 0
    (place.folder / "remit.toml").unlink()
    (place.folder / "remit.toml").mkdir()
    assert "remit.toml" in place.remit("audit", expect=1).err


def test_a_state_that_cannot_be_written_stops_the_call(place: Home) -> None:
    place.remit("call", "good.add", '{"a": 1}')
    database = next(Path(place.environment["REMIT_STATE"]).rglob("state.db"))
    database.write_bytes(b"this is no database" * 100)
    for extra in ("-wal", "-shm"):
        database.with_name(database.name + extra).unlink(missing_ok=True)
    ran = place.remit("call", "good.add", '{"a": 1}', expect=1)
    assert "state.db" in ran.err and ran.out == ""


def test_a_state_folder_that_is_not_absolute_is_named(tmp_path: Path) -> None:
    for arguments in (["packs", "list"], ["init", "--yes"], ["log", "list"]):
        ran = remit(*arguments, folder=tmp_path, environment={"REMIT_STATE": "relative"}, expect=None)
        assert ran.code in (1, 2) and "REMIT_STATE" in ran.err, (arguments, ran)


def test_state_is_private(place: Home) -> None:
    place.remit("call", "good.add", '{"a": 1}')
    root = Path(place.environment["REMIT_STATE"])
    for path in [root, *root.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["policy", "test", "none.toml"], "none.toml cannot be read: No such file or directory\n  next: name a file"),
        (
            ["run", "x", "--model", "m", "--attach", "none.png"],
            "cannot be attached: No such file or directory\n  next: ",
        ),
        (
            ["secrets", "set", "mail.token", "env:X"],
            "no pack 'mail' is installed or locked here\n  next: remit packs list",
        ),
        (["secrets", "set", "good.token", "env:X"], "asks for none\n  next: remit secrets list"),
        (["policy", "explain", "good.add", "{}"], "do not fit good.add:\n- a: is required, but missing"),
    ],
    ids=["cases", "attach", "pack", "secret", "arguments"],
)
def test_what_is_not_there_is_said_in_words_with_a_next_step(place: Home, arguments: list[str], says: str) -> None:
    ran = place.remit(*arguments, expect=None)
    assert ran.code in (1, 2) and says in ran.err and "next: " in ran.err and "Errno" not in ran.err, ran
