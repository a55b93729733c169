"""The pack `files` in cells, on a workspace of the test."""

from __future__ import annotations

from pathlib import Path

from remit import testing

PROJECT = Path(__file__).parents[1]


def test_a_file_is_written_found_moved_and_deleted_with_sign_off(tmp_path: Path) -> None:
    with testing.pack(PROJECT, workspace=tmp_path, approve=True) as pack:
        pack.value("write_file", path="a/list.txt", content="bread\nmilk\n")
        assert (tmp_path / "a/list.txt").read_text() == "bread\nmilk\n"
        found = pack.value("search", text="milk")["matches"]
        assert found == [{"path": "a/list.txt", "line": 2, "text": "milk"}]
        pack.value("move_file", source="a/list.txt", destination="b.txt")
        assert [entry["path"] for entry in pack.value("list_files")["entries"]] == ["a", "b.txt"]
        assert pack.asked == []
        pack.value("delete_file", path="b.txt")
        assert len(pack.asked) == 1 and not (tmp_path / "b.txt").exists()


def test_nobody_there_means_nothing_is_deleted_and_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("kept")
    with testing.pack(PROJECT, workspace=tmp_path) as pack:
        assert pack.call("delete_file", path="keep.txt").status == "denied"
        assert pack.value("read_file", path="keep.txt")["text"] == "kept"
        outside = pack.call("read_file", path="../outside.txt")
    assert outside.status == "failed" and "outside the workspace" in outside.text
