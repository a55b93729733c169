"""Removing a pack: what goes, what stays, and how it comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.deployment.trust import trust
from remit.errors import PackError, UnknownPack
from remit.installing.place import Place
from remit.installing.removing import removing
from remit.installing.upgrading import going_back
from remit.state_folder import data_folder, open_state
from tests.dist_info import write_pack
from tests.index_parts import CELLS, copied, pack_wheel, prepared, site_names, write_wheel


def wheels(index: Path) -> None:
    """Write tide, which needs moon and star, and ebb, which needs star."""
    pack_wheel(index, requires=["moon", "star"])
    pack_wheel(index, "ebb", requires=["star"])
    write_wheel(index, "moon", "1.0", {"moon.py": ""}, requires=["dust"])
    write_wheel(index, "star", "1.0", {"star.py": ""})
    write_wheel(index, "dust", "1.0", {"dust.py": ""})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment that has both."""
    return prepared(tmp_path_factory.mktemp("base"), wheels, "remit-tide", "remit-ebb")


@pytest.fixture
def place(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return copied(base, tmp_path, monkeypatch)


def test_what_goes_and_what_stays(place: Place) -> None:
    data = data_folder(open_state(Path(place.folder)), "tide", "me")
    (data / "notes").write_text("kept")
    removal = removing(place, "tide")
    assert removal.unused == ("dust", "moon")
    lines = "\n".join(removal.lines())
    assert "to uninstall: remit-tide 1.0" in lines
    assert "kept: dust, moon, which nothing else needs" in lines
    assert "kept: its data in" in lines
    removal.apply()
    assert "remit_tide" not in site_names(place)
    assert "moon.py" in site_names(place)
    assert (data / "notes").exists()
    files = place.files()
    assert not files.config.config.packs["tide"].enabled
    with going_back(place, "tide", sandbox=CELLS) as addition:
        addition.apply()
    assert place.files().config.config.packs["tide"].enabled


def test_everything_goes_when_that_is_asked_for(place: Place) -> None:
    data = data_folder(open_state(Path(place.folder)), "tide", "me")
    removal = removing(place, "Tide")
    assert "to uninstall: dust, moon" in "\n".join(removal.lines(dependencies=True))
    assert "to delete: its data" in "\n".join(removal.lines(data=True))
    removal.apply(dependencies=True, data=True)
    left = ["remit_ebb", "remit_ebb-1.0.dist-info", "star-1.0.dist-info", "star.py"]
    assert site_names(place) == left
    assert not data.exists()


def test_what_something_else_needs_stays(place: Place, tmp_path: Path) -> None:
    write_pack(place.environment.site, "gale", metadata="Name: gale-pack\nVersion: 1.4\nRequires-Dist: remit-tide\n\n")
    with pytest.raises(PackError, match="gale-pack requires remit-tide"):
        removing(place, "tide")
    with pytest.raises(UnknownPack, match="did you mean"):
        removing(place, "tidee")


def test_what_a_broken_pack_lists_is_not_deleted_on_its_word(place: Place) -> None:
    victim = place.environment.prefix / "victim"
    victim.touch()
    write_pack(place.environment.site, "gale", extra=["../../../victim,,"])
    with pytest.raises(PackError, match="not deleted on its word"):
        removing(place, "gale")
    assert victim.exists()


def test_another_deployment_that_uses_it_is_named(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("remit.toml", "remit.lock"):
        (other / name).write_bytes(Path(place.folder, name).read_bytes())
    trust(other)
    assert str(other) in removing(place, "tide").elsewhere
    assert str(place.folder) not in removing(place, "tide").elsewhere
