"""`packs add`: the whole closure is inspected before anything is installed, and nothing of it runs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from remit.errors import NotTrusted, PackError, RunError, UsageError
from remit.installing.adding import Wish, adding
from remit.installing.place import Place
from remit.installing.store import kept_wheel
from remit.packs.lock import read_lock
from tests.dist_info import write_pack
from tests.index_parts import CELLS, new_place, pack_wheel, site_names, use_index, write_sdist, write_wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    use_index(monkeypatch, folder)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


def unpacked(wheel: Path, place: Place) -> None:
    """Put a wheel into the site folder, as somebody else has installed it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place.environment.site)


def refused(place: Place, *wanted: str | Path, change: tuple[str, ...] = ()) -> str:
    """Return why `wanted` is not installed, having checked that nothing changed."""
    names, lock = site_names(place), read_lock(Path(place.folder, "remit.lock"))
    with (
        pytest.raises((PackError, RunError)) as caught,
        adding(place, Wish(wanted=[str(one) for one in wanted], change=change), sandbox=CELLS) as addition,
    ):
        addition.apply()
    assert site_names(place) == names
    assert read_lock(Path(place.folder, "remit.lock")) == lock
    return str(caught.value)


def test_what_is_installed_is_what_was_inspected(place: Place, index: Path) -> None:
    pack_wheel(index, requires=["moon>=1"])
    library = write_wheel(index, "moon", "1.2", {"moon/__init__.py": "raise SystemExit"})
    with adding(place, Wish(wanted=["remit-tide"]), sandbox=CELLS) as addition:
        shown = "\n".join(addition.lines)
        assert "to install: remit-tide 1.0 (pack tide;" in shown
        assert "to install: moon 1.2 (a library, which it needs;" in shown
        assert "skill tide.run:" in shown
        assert site_names(place) == []
        # What lies on the index may change meanwhile: installed is what was looked at.
        write_wheel(index, "moon", "1.2", {"moon/__init__.py": "changed = True"})
        addition.apply()
    assert site_names(place) == ["moon", "moon-1.2.dist-info", "remit_tide", "remit_tide-1.0.dist-info"]
    assert (place.environment.site / "moon" / "__init__.py").read_text() == "raise SystemExit"
    locked = read_lock(Path(place.folder, "remit.lock")).packs["tide"]
    assert sorted(locked.wheels) == [library.name, "remit_tide-1.0-py3-none-any.whl"]
    assert all(kept_wheel(name, digest) for name, digest in locked.wheels.items())
    assert place.files().config.config.packs["tide"].enabled
    place.check_installed("tide", locked)
    assert not (place.environment.site / "remit_tide-1.0.dist-info" / "direct_url.json").exists()


def test_one_that_is_installed_already_is_only_enabled(place: Place, index: Path) -> None:
    unpacked(pack_wheel(index), place)
    with adding(place, Wish(wanted=["remit-tide"]), sandbox=CELLS) as addition:
        assert not addition.closure.wheels
        addition.apply()
    assert read_lock(Path(place.folder, "remit.lock")).packs["tide"].version == "1.0"


def test_a_deployment_that_nobody_accepted_gets_nothing(place: Place, index: Path) -> None:
    pack_wheel(index)
    config = Path(place.folder, "remit.toml")
    config.write_text(config.read_text().replace('write = "ask"', 'write = "allow"'))
    with pytest.raises(NotTrusted), adding(place, Wish(wanted=["remit-tide"]), sandbox=CELLS):
        pass
    assert site_names(place) == []


def test_source_distributions_are_never_built(place: Place, index: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    sdist = write_sdist(index, "remit_gust", marker)
    why = refused(place, "remit-gust")
    assert "only a source distribution" in why
    assert "pip wheel --no-deps" in why
    pack_wheel(index, requires=[f"remit-gust @ {sdist.as_uri()}"])
    assert "nothing is built here" in refused(place, "remit-tide")
    with pytest.raises(UsageError, match="source distribution; packs are added as wheels"):
        refused(place, sdist)
    assert not marker.exists()


def test_a_start_up_file_of_a_dependency_stops_everything(place: Place, index: Path) -> None:
    pack_wheel(index, requires=["moon"])
    write_wheel(index, "moon", "1.0", {"moon.py": "", "moon.pth": "import moon"})
    assert "moon 1.0: it installs the start-up file 'moon.pth', which every Python would run" in refused(
        place, "remit-tide"
    )


def test_a_wheel_at_an_address_of_its_own_is_refused(place: Place, index: Path, tmp_path: Path) -> None:
    moon = write_wheel(tmp_path / "elsewhere", "moon", "1.0", {"moon/__init__.py": ""})
    pack_wheel(index, requires=[f"moon @ {moon.as_uri()}"])
    assert "address that a wheel itself names" in refused(place, "remit-tide")


def test_installed_packages_do_not_change_unasked(place: Place, index: Path) -> None:
    unpacked(write_wheel(index, "moon", "1.0", {"moon.py": ""}), place)
    unpacked(pack_wheel(index, requires=["moon<2"]), place)
    write_wheel(index, "moon", "2.0", {"moon.py": "new"})
    pack_wheel(index, "ebb", requires=["moon>=2"])
    why = refused(place, "remit-ebb")
    assert "moon would go from 1.0 to 2.0 (remit-ebb requires moon>=2)" in why
    assert "remit-tide 1.0 requires moon<2, and would get 2.0" in why
    pack_wheel(index, "gust", requires=["moon<1.5,>=1.1"])
    write_wheel(index, "moon", "1.1", {"moon.py": "fine"})
    with adding(place, Wish(wanted=["remit-gust"], change=["Moon"]), sandbox=CELLS) as addition:
        assert "instead of 1.0" in "\n".join(addition.lines)
        addition.apply()
    assert (place.environment.site / "moon.py").read_text() == "fine"


def test_a_pack_of_a_name_that_is_taken_is_refused(place: Place, index: Path) -> None:
    write_pack(place.environment.site, "tide", package="tide_of_old")
    pack_wheel(index)
    assert "both ship a pack of this name" in refused(place, "remit-tide")
    pack_wheel(index, "gust", files={"tide_of_old/__init__.py": ""})
    assert "outside its package remit_gust" in refused(place, "remit-gust")


def test_when_something_fails_everything_is_put_back(place: Place, index: Path) -> None:
    unpacked(write_wheel(index, "moon", "1.0", {"moon/__init__.py": "old"}), place)
    names = site_names(place)
    write_wheel(index, "moon", "1.5", {"moon/__init__.py": "new", "moon/more.py": ""})
    pack_wheel(index, "ebb", "2.0", requires=["moon>=1.5"])
    with (
        pytest.raises(RunError, match=r"(?s)changed meanwhile.*rolled back: .*moon 1.5 taken away, moon 1.0 put back"),
        adding(place, Wish(wanted=["remit-ebb"], change=["moon"]), sandbox=CELLS) as addition,
    ):
        config = Path(place.folder, "remit.toml")
        config.write_text(config.read_text() + "\n# an edit meanwhile\n")
        addition.apply()
    assert site_names(place) == names
    assert (place.environment.site / "moon" / "__init__.py").read_text() == "old"
    assert "ebb" not in config.read_text()
    assert place.environment.installed()["moon"].version == "1.0"


def test_pip_that_fails_half_way_leaves_nothing(place: Place, index: Path) -> None:
    write_wheel(index, "moon", "1.0", {"moon/__init__.py": "", "moon/deep/er.py": ""})
    pack_wheel(index, requires=["moon"])
    with adding(place, Wish(wanted=["remit-tide"]), sandbox=CELLS) as addition:
        # In the way of the second wheel, and not there when it was inspected.
        (place.environment.site / "remit_tide").write_text("in the way")
        with pytest.raises(RunError, match="rolled back"):
            addition.apply()
    assert site_names(place) == ["remit_tide"]


def test_wishes_that_are_none(place: Place) -> None:
    for one in (".", "./nothing", "../up", "a b", "--index-url", "x @ https://example/x.whl", "x.tar.gz", "gone.whl"):
        with pytest.raises(UsageError), adding(place, Wish(wanted=[one]), sandbox=CELLS):
            pass
