"""`remit extensions add`: host code and all it needs is inspected first, and every wheel of it is locked."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from remit.cli.main import run
from remit.deployment.extending import enable_extension
from remit.deployment.trust import trust
from remit.errors import PackError
from remit.installing.adding import Wish, adding
from remit.installing.adding_extensions import adding_extensions
from remit.installing.environment import Environment
from remit.installing.fetch import sha256
from remit.installing.place import Place
from remit.installing.syncing import syncing
from remit.packs.lock import read_lock
from tests.index_parts import CELLS, copied, environment_at, new_place, pack_wheel, site_names, write_wheel

CODE = "raise SystemExit('nothing of it may run')\n"
GROUPS = {"remit.extensions": {"vault": "vault_ext"}}
VAULT, MOON = "vault_ext-1.0-py3-none-any.whl", "moon-1.0-py3-none-any.whl"


def vault(index: Path, version: str = "1.0", **options: str) -> Path:
    files = {"vault_ext/__init__.py": CODE, **options}
    return write_wheel(index, "vault-ext", version, files, requires=("moon",), groups=GROUPS)


def moon(index: Path, **files: str) -> Path:
    return write_wheel(index, "moon", "1.0", {"moon.py": "one", **files})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(folder / "state"))
        new_place(folder)
        vault(folder / "index")
        moon(folder / "index")
    return folder


@pytest.fixture
def place(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = copied(base, tmp_path, monkeypatch)
    monkeypatch.setattr(Environment, "here", lambda: made.environment)
    return made


@pytest.fixture
def index(place: Place) -> Path:
    return Path(place.folder).with_name("index")


def add(place: Place, *wanted: str) -> None:
    with adding_extensions(place, wanted or ["vault-ext"]) as addition:
        addition.apply()


def wheels(place: Place) -> dict[str, str]:
    return dict(read_lock(Path(place.folder, "remit.lock")).extensions["vault"].wheels)


def by_hand(place: Place, *wheels: Path) -> None:
    """Install wheels as somebody did who used pip."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place.environment.site)


def test_an_extension_is_inspected_locked_with_all_it_needs_and_comes_alike_elsewhere(
    place: Place, index: Path, base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(place.folder)
    assert run(["extensions", "add", "vault-ext", "-C", folder]) == 4 and site_names(place) == []
    told = capsys.readouterr()
    assert "to install: vault-ext 1.0 (an extension;" in told.out and "nothing was installed" in told.err
    assert "runs in the host, not confined" in told.out and str(tmp_path / "env") not in told.out
    add(place)
    assert site_names(place) == ["moon-1.0.dist-info", "moon.py", "vault_ext", "vault_ext-1.0.dist-info"]
    assert wheels(place) == {name: f"sha256:{sha256(index / name)}" for name in (VAULT, MOON)}
    shutil.copytree(place.folder, tmp_path / "clone")
    shutil.copytree(base / "env", tmp_path / "other", symlinks=True)
    other = Place(folder=tmp_path / "clone", environment=environment_at(tmp_path / "other"), managed=place.managed)
    trust(other.folder)
    with syncing(other, locked=True) as found:
        found.apply()
    assert site_names(other) == site_names(place)


def test_what_it_needs_and_somebody_installed_is_locked_where_pip_finds_the_same(place: Place, index: Path) -> None:
    by_hand(place, index / VAULT, index / MOON)
    with adding_extensions(place, [str(index / VAULT)]) as addition:
        (proposal,) = addition.proposals
        assert set(proposal.lock.extensions["vault"].wheels) == {VAULT, MOON}
        assert not addition.closure.replaced.keys() ^ {"vault-ext"}, "it is looked into although it is installed"
    moon(index, **{"moon.py": "two"})
    add(place)
    assert set(wheels(place)) == {VAULT}, "a wheel with other files is not what is installed"


def test_a_pack_locks_what_it_needs_and_somebody_installed(place: Place, index: Path) -> None:
    pack_wheel(index, requires=("moon",))
    by_hand(place, index / MOON)
    with adding(place, Wish(wanted=["remit-tide"]), sandbox=CELLS) as addition:
        (proposal,) = addition.proposals
        assert set(proposal.lock.packs["tide"].wheels) == {"remit_tide-1.0-py3-none-any.whl", MOON}


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [("vault-ext", "start-up file"), ("remit-tide", "is no extension")],
)
def test_what_must_not_come_is_refused_before_anything_is_installed(
    place: Place, index: Path, wanted: str, reason: str
) -> None:
    pack_wheel(index)
    moon(index, **({"moon.pth": "import moon"} if wanted == "vault-ext" else {}))
    with pytest.raises(PackError, match=reason):
        add(place, wanted)
    assert site_names(place) == []


def test_packs_add_says_how_an_extension_is_added(place: Place) -> None:
    with (
        pytest.raises(PackError, match="an extension, not a pack") as refused,
        adding(place, Wish(wanted=["vault-ext"])),
    ):
        pass
    assert refused.value.remedy == "remit extensions add vault-ext"


def test_enabling_locks_the_wheel_that_pip_was_given(place: Place, index: Path) -> None:
    by_hand(place, index / VAULT)
    sound = {"url": (index / VAULT).as_uri(), "archive_info": {"hashes": {"sha256": "ab" * 32}}}
    strange = ({"url": "file:///x.zip"}, {"archive_info": {"hashes": {"sha256": "../../x"}}}, {"url": 7})
    direct = place.environment.site / "vault_ext-1.0.dist-info" / "direct_url.json"
    for damage in (*strange, {}):
        direct.write_text(json.dumps({**sound, **damage}))
        paths = place.environment.import_order()
        enable_extension(place.folder, "vault", paths=paths, managed=place.managed).apply()
        assert wheels(place) == ({} if damage else {VAULT: f"sha256:{'ab' * 32}"})
