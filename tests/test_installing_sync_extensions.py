"""`remit sync` and extensions: host code comes only as it was accepted, and its wheels are accepted by a person."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from remit.cli.main import run
from remit.deployment.extending import enable_extension
from remit.deployment.trust import trust
from remit.errors import LockError, PackError
from remit.installing.fetch import sha256
from remit.installing.place import Place
from remit.installing.syncing import Sync, syncing
from remit.packs.lock import format_lock, parse_lock, read_lock
from tests.index_parts import new_environment, new_place, site_names, use_index, write_wheel

CODE = "raise SystemExit('nothing of it may run')\n"
GROUPS = {"remit.extensions": {"vault": "vault_ext"}}


def vault(index: Path, *, code: str = CODE, version: str = "1.0", requires: tuple[str, ...] = ("moon",)) -> Path:
    return write_wheel(index, "vault-ext", version, {"vault_ext/__init__.py": code}, requires=requires, groups=GROUPS)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment in which somebody installed an extension with pip and enabled it."""
    folder = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(folder / "state"))
        place = new_place(folder)
        moon = write_wheel(folder / "index", "moon", "1.0", {"moon.py": "one"})
        for wheel in (vault(folder / "index"), moon):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(place.environment.site)
        paths = place.environment.import_order()
        enable_extension(place.folder, "vault", paths=paths, managed=place.managed).apply()
    return folder


@pytest.fixture
def fresh(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A trusted clone of it on another machine."""
    shutil.copytree(base / "index", tmp_path / "index")
    shutil.copytree(base / "deployment", tmp_path / "clone")
    use_index(monkeypatch, tmp_path / "index")
    trust(tmp_path / "clone")
    environment = new_environment(tmp_path / "env")
    return Place(folder=tmp_path / "clone", environment=environment, managed=tmp_path / "managed.toml")


def sync(place: Place, *, locked: bool = False) -> Sync:
    with syncing(place, locked=locked) as found:
        found.apply()
        return found


def states(found: Sync) -> dict[str, str]:
    return {row.extension: row.state for row in found.rows}


def lock_of(place: Place) -> Path:
    return Path(place.folder, "remit.lock")


def test_an_extension_is_installed_as_it_was_accepted_and_its_wheels_are_locked(
    fresh: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remit.installing.environment.Environment.here", lambda: fresh.environment)
    folder, wheels = str(fresh.folder), "moon-1.0-py3-none-any.whl, vault_ext-1.0-py3-none-any.whl"
    assert run(["sync", "--locked", "-C", folder]) == 1
    assert "has no hash of" in capsys.readouterr().err
    assert run(["sync", "-C", folder]) != 0 and site_names(fresh) == []
    said = " ".join(capsys.readouterr().err.split())
    assert f"run in the host and whose hashes nobody has accepted yet: {wheels}" in said
    assert run(["sync", "--yes", "-C", folder]) == 0
    assert "vault (extension)  vault-ext     1.0      ok" in capsys.readouterr().out
    assert site_names(fresh) == ["moon-1.0.dist-info", "moon.py", "vault_ext", "vault_ext-1.0.dist-info"]
    locked = read_lock(lock_of(fresh))
    assert ", ".join(sorted(locked.extensions["vault"].wheels)) == wheels
    assert parse_lock(format_lock(locked)) == locked
    again = sync(fresh, locked=True)
    assert (states(again), again.closure) == ({"vault": "ok"}, None)
    code = fresh.environment.site / "vault_ext" / "__init__.py"
    code.write_text("evil")
    assert states(sync(fresh, locked=True)) == {"vault": "to install"} and code.read_text() == CODE
    enable_extension(fresh.folder, "vault", paths=fresh.environment.import_order(), managed=fresh.managed).apply()
    assert read_lock(lock_of(fresh)).extensions["vault"].wheels, "locking the same again keeps them"


def test_another_wheel_than_the_accepted_one_is_refused(fresh: Place, tmp_path: Path) -> None:
    index = tmp_path / "index"
    vault(index, code="evil")
    with pytest.raises(LockError, match="extension vault: what pip finds is not what is locked: its files changed"):
        sync(fresh)
    vault(index)
    lock, moon = read_lock(lock_of(fresh)), "moon-1.0-py3-none-any.whl"
    wheels = {moon: f"sha256:{sha256(index / moon)}"}
    lock_of(fresh).write_text(
        format_lock(lock.with_extension("vault", replace(lock.extensions["vault"], wheels=wheels)))
    )
    trust(fresh.folder)
    write_wheel(index, "moon", "1.0", {"moon.py": "evil"})
    with pytest.raises(LockError, match=r"moon-1.0-py3-none-any.whl has another hash"):
        sync(fresh)
    assert site_names(fresh) == []


def test_what_is_no_extension_or_not_locked_or_in_development_is_said(fresh: Place, tmp_path: Path) -> None:
    index, lock = tmp_path / "index", read_lock(lock_of(fresh))
    write_wheel(index, "vault-ext", "1.0", {"vault_ext/__init__.py": CODE}, requires=("moon",))
    with pytest.raises(PackError, match="is no extension"):
        sync(fresh)
    lock_of(fresh).write_text(
        format_lock(lock.with_extension("vault", replace(lock.extensions["vault"], editable=True)))
    )
    trust(fresh.folder)
    (row,) = sync(fresh).rows
    assert row.state == "failed" and "development install" in row.reason
    lock_of(fresh).write_text(format_lock(replace(lock, extensions={})))
    trust(fresh.folder)
    (row,) = sync(fresh).rows
    assert row.state == "not locked" and "remit extensions enable vault" in row.remedy and site_names(fresh) == []
