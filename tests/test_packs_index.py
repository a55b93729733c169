"""The index of discovery: used while nothing changed, harmless when it is broken."""

from __future__ import annotations

import os
from pathlib import Path

from remit.packs.discovery import discover, list_packs
from tests.dist_info import write_editable, write_pack

LONG_AGO = (1_000_000_000, 1_000_000_000)


def _settled(folder: Path) -> str:
    os.utime(folder, LONG_AGO)
    return str(folder)


def test_the_index_answers_while_the_folders_are_unchanged(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    write_editable(site, tmp_path / "project", "ebb")
    write_pack(site, "wrong", manifest=None)
    first = list_packs([_settled(site)], index=index)
    assert list(first.packs) == ["ebb", "tide"]
    (next(site.glob("tide*.dist-info")) / "entry_points.txt").unlink()
    again = list_packs([str(site)], index=index)
    assert again.packs["ebb"] == first.packs["ebb"]
    assert list(again.packs) == list(first.packs)
    assert again.problems == first.problems
    assert list(discover([str(site)]).packs) == ["ebb"]


def test_a_change_of_the_folder_is_noticed(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    list_packs([_settled(site)], index=index)
    write_pack(site, "ebb")
    assert list(list_packs([str(site)], index=index).packs) == ["ebb", "tide"]


def test_a_folder_that_has_just_changed_is_not_remembered(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    list_packs([str(site)], index=index)
    assert not index.exists()
    list_packs([_settled(site)], index=index)
    assert list(index.iterdir())


def test_a_choice_between_two_distributions_is_part_of_the_key(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site, distribution="tide-one", package="tide_one")
    write_pack(site, distribution="tide-two", package="tide_two")
    assert not list_packs([_settled(site)], index=index).packs
    assert list_packs([str(site)], index=index, sources={"tide": "tide-two"}).packs


def test_a_broken_or_unwritable_index_is_harmless(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    list_packs([_settled(site)], index=index)
    (file,) = index.iterdir()
    for text in (
        "",
        "[]",
        "{",
        '{"key": 1}',
        "[" * 100_000,
        file.read_text().replace('"packs": [{', '"packs": [{"x": 1, '),
    ):
        file.write_text(text)
        assert list(list_packs([str(site)], index=index).packs) == ["tide"]
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    assert list(list_packs([str(site)], index=blocked).packs) == ["tide"]
