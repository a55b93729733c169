"""The files pack in a deployment that grants a part of the workspace: clear answers, and nothing elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Home, Ran, home


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("files"), fixtures=("remit-files",))
    (made.workspace / "docs" / "deep").mkdir(parents=True)
    (made.workspace / "docs" / "a.txt").write_text("inside\n")
    (made.workspace / "docs" / "deep" / "c.txt").write_text("inside, deeper\n")
    (made.workspace / "b.txt").write_text("inside of nothing\n")
    both = ("--grant", "fs.read=${workspace}/docs/**", "--grant", "fs.write=${workspace}/docs/**")
    made.remit("packs", "enable", "files", *both, "--yes")
    made.configure('write = "ask"', 'write = "allow"')
    return made


def call(place: Home, skill: str, arguments: str, expect: int = 0) -> Ran:
    return place.remit("call", f"files.{skill}", arguments, "--json", expect=expect)


def test_paths_start_at_the_workspace_although_only_a_part_is_granted(place: Home) -> None:
    assert call(place, "read_file", '{"path": "docs/a.txt"}').json["result"]["text"] == "inside"
    written = call(place, "write_file", '{"path": "docs/new/n.txt", "content": "kept"}').json["result"]
    assert written == {"path": "docs/new/n.txt", "bytes": 4}
    assert (place.workspace / "docs/new/n.txt").read_text() == "kept"
    call(place, "move_file", '{"source": "docs/new/n.txt", "destination": "docs/m.txt"}')
    assert (place.workspace / "docs/m.txt").read_text() == "kept"
    (place.workspace / "docs/m.txt").unlink()
    (place.workspace / "docs/new").rmdir()


@pytest.mark.confinement
def test_what_is_not_granted_is_refused_in_words(place: Home) -> None:
    for skill in ("read_file", "search"):
        arguments = {"read_file": '{"path": "b.txt"}', "search": '{"text": "i", "folder": "b.txt"}'}[skill]
        told = call(place, skill, arguments, expect=1).json
        assert told["reason"].endswith("PermissionError: 'b.txt' is not granted for reading; granted are: docs"), told
    writes = {
        "write_file": '{"path": "n.txt", "content": "x"}',
        "move_file": '{"source": "docs/a.txt", "destination": "a.txt"}',
    }
    for skill, arguments in writes.items():
        told = call(place, skill, arguments, expect=1).json
        assert "is not granted for writing" in told["reason"], told
    assert sorted(path.name for path in place.workspace.iterdir()) == ["b.txt", "docs"]
    assert (place.workspace / "docs/a.txt").read_text() == "inside\n"


@pytest.mark.confinement
def test_listing_and_searching_the_workspace_show_the_granted_part(place: Home) -> None:
    listed = call(place, "list_files", "{}").json["result"]["entries"]
    assert [entry["path"] for entry in listed] == ["docs"]
    deep = call(place, "list_files", '{"recursive": true, "pattern": "*.txt"}').json["result"]["entries"]
    assert [entry["path"] for entry in deep] == ["docs/a.txt", "docs/deep/c.txt"]
    found = call(place, "search", '{"text": "inside"}').json["result"]["matches"]
    assert [match["path"] for match in found] == ["docs/a.txt", "docs/deep/c.txt"]


def test_nothing_granted_is_said_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    made = home(tmp_path, fixtures=("remit-files",))
    made.remit("packs", "enable", "files", "--grant", "fs.read=", "--grant", "fs.write=", "--yes")
    made.configure('write = "ask"', 'write = "allow"')
    ran = call(made, "write_file", '{"path": "n.txt", "content": "x"}', expect=1)
    assert "nothing in the workspace is granted to this skill" in ran.json["reason"]
    assert list(made.workspace.iterdir()) == []


def test_all_granted_is_the_control(tmp_path: Path) -> None:
    made = home(tmp_path, "files", fixtures=("remit-files",))
    (made.workspace / "b.txt").write_text("all\n")
    assert call(made, "read_file", '{"path": "b.txt"}').json["result"]["text"] == "all"
    assert [entry["path"] for entry in call(made, "list_files", "{}").json["result"]["entries"]] == ["b.txt"]
