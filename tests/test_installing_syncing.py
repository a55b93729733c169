"""`remit sync`: a fresh machine gets exactly what the deployment locks, or nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from remit.deployment.trust import trust, trust_digest
from remit.errors import LockError, NotTrusted, PackError
from remit.installing.place import Place
from remit.installing.syncing import Sync, syncing
from remit.packs.lock import Lock, format_lock, read_lock
from tests.index_parts import new_environment, pack_wheel, prepared, site_names, use_index, write_wheel


def wheels(index: Path) -> None:
    """Write tide 1.0, which needs moon 1.0."""
    write_wheel(index, "moon", "1.0", {"moon.py": "one"})
    pack_wheel(index, requires=["moon"])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment in which somebody added tide; it and moon have newer versions meanwhile."""
    folder = prepared(tmp_path_factory.mktemp("base"), wheels, "remit-tide")
    write_wheel(folder / "index", "moon", "1.1", {"moon.py": "two"})
    pack_wheel(folder / "index", version="1.1", requires=["moon"])
    return folder


@pytest.fixture
def index(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    shutil.copytree(base / "index", folder)
    use_index(monkeypatch, folder)
    return folder


@pytest.fixture
def fresh(base: Path, index: Path, tmp_path: Path) -> Place:
    """A clone of it on another machine: another environment, another state."""
    clone = tmp_path / "clone"
    shutil.copytree(base / "deployment", clone)
    return Place(folder=clone, environment=new_environment(tmp_path / "env"), managed=tmp_path / "managed.toml")


def sync(place: Place, *, locked: bool = False) -> Sync:
    with syncing(place, locked=locked) as found:
        found.apply()
        return found


def states(found: Sync) -> dict[str, str]:
    return {row.pack: row.state for row in found.rows}


def edit_lock(place: Place, lock: Lock) -> None:
    Path(place.folder, "remit.lock").write_text(format_lock(lock))
    trust(place.folder)


def test_everything_that_cannot_be_had_is_named_at_once(fresh: Place, index: Path) -> None:
    config = Path(fresh.folder, "remit.toml")
    config.write_text(config.read_text() + "\n[packs.ebb]\nenabled = true\n")
    lock = read_lock(Path(fresh.folder, "remit.lock"))
    edit_lock(fresh, lock.with_pack("ebb", replace(lock.packs["tide"], distribution="remit-ebb", wheels={})))
    for wheel in index.glob("remit_tide*"):
        wheel.unlink()
    with pytest.raises(PackError) as refused:
        sync(fresh)
    assert "remit-ebb==1.0" in refused.value.message and "remit-tide==1.0" in refused.value.message
    assert len(refused.value.remedy.splitlines()) == 1 and site_names(fresh) == []


def test_a_clone_does_nothing_until_it_is_trusted(fresh: Place) -> None:
    with pytest.raises(NotTrusted):
        sync(fresh)
    assert site_names(fresh) == []


def test_exactly_what_is_locked_is_installed(fresh: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = trust_digest(fresh.folder)
    monkeypatch.setenv("REMIT_TRUST", digest)
    found = sync(fresh, locked=True)
    assert states(found) == {"tide": "to install"}
    assert site_names(fresh) == ["moon-1.0.dist-info", "moon.py", "remit_tide", "remit_tide-1.0.dist-info"]
    assert trust_digest(fresh.folder) == digest
    again = sync(fresh, locked=True)
    assert (states(again), again.closure) == ({"tide": "ok"}, None)
    code = fresh.environment.site / "remit_tide" / "__init__.py"
    right = code.read_text()
    code.write_text("changed")
    assert states(sync(fresh, locked=True)) == {"tide": "to install"}
    assert code.read_text() == right
    assert (fresh.environment.site / "moon.py").read_text() == "one"


def test_a_wheel_that_was_replaced_is_refused(fresh: Place, index: Path) -> None:
    trust(fresh.folder)
    write_wheel(index, "moon", "1.0", {"moon.py": "replaced"})
    with pytest.raises(LockError, match=r"moon-1.0-py3-none-any.whl has another hash than remit.lock says"):
        sync(fresh)
    assert site_names(fresh) == []


def test_without_hashes_of_wheels_the_files_of_the_pack_decide(fresh: Place, index: Path) -> None:
    lock = read_lock(Path(fresh.folder, "remit.lock"))
    other = {"remit_tide-1.0-cp311-macosx_11_0_arm64.whl": "sha256:" + "0" * 64}
    edit_lock(fresh, lock.with_pack("tide", replace(lock.packs["tide"], wheels=other)))
    with pytest.raises(LockError, match=r"no hash of moon-1\.1-py3-none-any\.whl"):
        sync(fresh, locked=True)
    sound = (index / "remit_tide-1.0-py3-none-any.whl").read_bytes()
    pack_wheel(index, requires=["moon"], files={"remit_tide/other.py": "# more"})
    with pytest.raises(LockError, match="what pip finds is not what is locked: its files changed"):
        sync(fresh)
    assert site_names(fresh) == []
    (index / "remit_tide-1.0-py3-none-any.whl").write_bytes(sound)
    sync(fresh)
    pins = read_lock(Path(fresh.folder, "remit.lock")).packs["tide"].wheels
    assert sorted(pins) == ["moon-1.1-py3-none-any.whl", *other, "remit_tide-1.0-py3-none-any.whl"]
    assert states(sync(fresh, locked=True)) == {"tide": "ok"}


def test_compiled_files_of_a_system_that_nobody_accepted_are_asked_about(
    fresh: Place, index: Path, tmp_path: Path
) -> None:
    native = {"remit_tide/fast.so": b"\x7fELF"}
    for wheel in index.glob("remit_tide*"):
        wheel.unlink()
    pack_wheel(index, requires=["moon"], files=native)
    lock = read_lock(Path(fresh.folder, "remit.lock"))
    wheels = {name: digest for name, digest in lock.packs["tide"].wheels.items() if name.startswith("moon")}
    tide = replace(lock.packs["tide"], compiled={"cp39-cp39-win32": "sha256:" + "0" * 64}, wheels=wheels)
    edit_lock(fresh, lock.with_pack("tide", tide))
    with pytest.raises(LockError, match="are not locked yet"), syncing(fresh, locked=True):
        pass
    with syncing(fresh) as found:
        assert found.news == ("pack tide: compiled files for py3-none-any, which nobody has accepted yet",)
        found.apply()
    compiled = read_lock(Path(fresh.folder, "remit.lock")).packs["tide"].compiled
    assert sorted(compiled) == ["cp39-cp39-win32", "py3-none-any"]


def test_what_cannot_be_had_is_said_pack_by_pack(fresh: Place, index: Path) -> None:
    config = Path(fresh.folder, "remit.toml")
    config.write_text(config.read_text() + '\n[packs.ebb]\nenabled = true\nfrom = "remit-ebb"\n')
    lock = read_lock(Path(fresh.folder, "remit.lock"))
    dev = replace(lock.packs["tide"], editable=True, source="/src/gale", package="remit_gale", wheels={})
    edit_lock(fresh, lock.with_pack("gale", dev))
    config.write_text(config.read_text() + "\n[packs.gale]\nenabled = true\n")
    trust(fresh.folder)
    rows = {row.pack: row for row in sync(fresh).rows}
    assert (rows["ebb"].state, rows["ebb"].remedy) == ("not locked", "remit packs add remit-ebb")
    assert (rows["gale"].state, rows["gale"].remedy) == ("failed", "pip install -e /src/gale")
    assert rows["tide"].state == "to install"
    assert "files are not held" in {row.pack: row.reason for row in sync(fresh, locked=True).rows}["gale"]


def test_two_versions_of_a_library_after_a_merge_are_said(fresh: Place) -> None:
    lock = read_lock(Path(fresh.folder, "remit.lock"))
    other = replace(
        lock.packs["tide"], distribution="remit-ebb", wheels={"moon-1.1-py3-none-any.whl": "sha256:" + "0" * 64}
    )
    edit_lock(fresh, lock.with_pack("ebb", other))
    with pytest.raises(LockError, match=r"wants moon 1.1 for pack ebb and 1.0 for pack tide") as caught:
        sync(fresh)
    assert "remit packs upgrade" in caught.value.remedy


def test_a_version_that_is_gone_is_an_error(fresh: Place, index: Path) -> None:
    trust(fresh.folder)
    (index / "remit_tide-1.0-py3-none-any.whl").unlink()
    with pytest.raises(PackError, match=r"remit-tide==1\.0"):
        sync(fresh)
