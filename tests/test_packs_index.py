"""The index of discovery: used while nothing changed, harmless when it is broken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.packs.discovery import discover, list_packs
from remit.packs.listing import listing
from tests.dist_info import write_editable, write_pack

LONG_AGO = (1_000_000_000, 1_000_000_000)


def _settled(folder: Path) -> str:
    """Make everything that a survey of `folder` depends on old; a project beside it, too."""
    for path in (folder, *folder.rglob("*"), *folder.parent.glob("project/**/*")):
        os.utime(path, LONG_AGO)
    return str(folder)


def _mark(index: Path) -> None:
    """Write into the index what is not so: whoever repeats it has asked the index."""
    (file,) = index.iterdir()
    file.write_text(file.read_text().replace('"1.4"', '"from the index"'))


def _versions(site: Path, index: Path) -> dict[str, str]:
    """Return what the listing says, having checked that both ways to ask agree."""
    packs = list_packs([str(site)], index=index).packs
    shown = {pack.name: pack.version for pack in listing(str(index), [str(site)]).packs}
    assert shown == {name: pack.version for name, pack in packs.items()}
    return shown


def test_the_index_answers_while_nothing_has_changed(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    write_editable(site, tmp_path / "project", "ebb")
    write_pack(site, "wrong", manifest=None)
    first = list_packs([_settled(site)], index=index)
    assert list(first.packs) == ["ebb", "tide"]
    again = list_packs([str(site)], index=index)
    assert again.packs["ebb"] == first.packs["ebb"]
    assert list(again.packs) == list(first.packs)
    assert again.problems == first.problems
    _mark(index)
    assert _versions(site, index)["tide"] == "from the index"
    assert discover([str(site)]).packs["tide"].version == "1.4"


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, str]]] = {
    "added": (lambda site: write_pack(site, "gale"), {"ebb": "1.4", "gale": "1.4", "tide": "1.4"}),
    "removed": (lambda site: shutil.rmtree(site / "tide_pack-1.4.dist-info"), {"ebb": "1.4"}),
    "replaced": (
        lambda site: (shutil.rmtree(site / "tide_pack-1.4.dist-info"), write_pack(site, version="1.5")),
        {"ebb": "1.4", "tide": "1.5"},
    ),
    "edited METADATA": (
        lambda site: (site / "tide_pack-1.4.dist-info" / "METADATA").write_text("Name: tide-pack\nVersion: 1.9\n\n"),
        {"ebb": "1.4", "tide": "1.9"},
    ),
    "edited entry points": (
        lambda site: (site / "tide_pack-1.4.dist-info" / "entry_points.txt").write_text("[console_scripts]\n"),
        {"ebb": "1.4"},
    ),
    "edited RECORD": (
        lambda site: (site / "tide_pack-1.4.dist-info" / "RECORD").write_text("../../x.pth,,\n"),
        {"ebb": "1.4"},
    ),
    "lost pack.toml": (lambda site: (site / "tide_pack" / "pack.toml").unlink(), {"ebb": "1.4"}),
    "a library that became a pack": (
        lambda site: (site / "moon-1.4.dist-info" / "entry_points.txt").write_text("[remit.packs]\nmoon = moon_pack\n"),
        {"ebb": "1.4", "moon": "1.4", "tide": "1.4"},
    ),
    "editable, lost pack.toml": (
        lambda site: (site.parent / "project" / "src" / "ebb_pack" / "pack.toml").unlink(),
        {"tide": "1.4"},
    ),
    "editable, edited .pth": (lambda site: (site / "_ebb.pth").write_text("/nowhere/at/all\n"), {"tide": "1.4"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_seen(what: str, tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    write_pack(site)
    write_editable(site, tmp_path / "project", "ebb")
    write_pack(site, "moon", distribution="moon", groups={"flask": {"x": "moon_pack"}})
    assert _versions(Path(_settled(site)), index) == {"ebb": "1.4", "tide": "1.4"}
    _mark(index)
    assert _versions(site, index)["tide"] == "from the index"
    change, expected = CHANGES[what]
    change(site)
    assert _versions(site, index) == expected


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
        file.read_text().replace('"seen": [[', '"seen": [7, ['),
        file.read_text().replace('"seen": [[', '"seen": [[7, '),
        file.read_text().replace('"seen": [[', '"seen": [[], ['),
    ):
        file.write_text(text)
        assert list(list_packs([str(site)], index=index).packs) == ["tide"]
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    assert list(list_packs([str(site)], index=blocked).packs) == ["tide"]


def test_a_thousand_packs_are_listed_and_none_runs(tmp_path: Path) -> None:
    site, index = tmp_path / "site-packages", tmp_path / "index"
    for number in range(1000):
        write_pack(site, f"tide{number}")
    first = listing(str(index), [_settled(site)])
    assert len(first.packs) == 1000
    assert listing(str(index), [str(site)]) == first
    assert len(discover([str(site)]).packs) == 1000
    assert not list(site.rglob("IMPORTED"))
