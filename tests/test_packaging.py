"""The fixture packs build into what pip would install."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.packaging import PLACES, build_site, build_wheel, project

NAMES = sorted(
    folder.parent.name
    for place in PLACES
    for folder in place.glob("*/pyproject.toml")
    if "remit.extensions" not in folder.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", NAMES)
def test_every_pack_has_one_entry_point_to_a_top_level_package(name: str, tmp_path: Path) -> None:
    site = build_site(tmp_path, name)
    (found,) = distributions(path=[str(site)])
    (entry,) = found.entry_points.select(group="remit.packs")
    assert (site / entry.value / "__init__.py").is_file()
    assert (site / entry.value / "pack.toml").is_file() == (name != "no_manifest")


def test_packs_can_be_added_to_a_site_and_wheels_are_built_once(tmp_path: Path) -> None:
    build_site(tmp_path, "good")
    site = build_site(tmp_path, "collides_a", "collides_b")
    assert len(list(distributions(path=[str(site)]))) == 3
    assert build_wheel("good") is build_wheel("good")


def test_an_unknown_project_is_named() -> None:
    with pytest.raises(LookupError, match="absent"):
        project("absent")
