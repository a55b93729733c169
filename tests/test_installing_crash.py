"""kill -9 while packs are installed or removed: the next command undoes what was begun, and says so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.deployment.files import read_files
from remit.installing.journal import mend
from remit.installing.place import Place
from remit.installing.removing import removing
from remit.state_folder import state_root
from tests.index_parts import copied, pack_wheel, prepared, site_names, write_wheel

PROGRAM = """
import os, signal, sys
from pathlib import Path
from remit.installing import pip, store
from remit.installing.adding import Wish, adding
from remit.installing.environment import Environment
from remit.installing.place import Place
from remit.installing.removing import removing
from remit.installing.upgrading import upgrading
from tests.index_parts import environment_at

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(real):
    def run(*given, **named):
        real(*given, **named)
        killed()
    return run

def before(real):
    return killed

folder, what, where, how = sys.argv[1:]
home = {"pip.install": (pip, "install"), "pip.uninstall": (pip, "uninstall"),
        "files": (__import__("remit.installing.adding", fromlist=["apply_all"]), "apply_all"),
        "former": (store, "remember_former")}
place = Place(folder=Path(folder, "deployment"), environment=environment_at(Path(folder, "env")),
              managed=Path(folder, "managed.toml"))

def run(apply):
    if where in home:
        holder, name = home[where]
        change = {"before": before, "after": after}[how]
        setattr(holder, name, change(getattr(holder, name)))
    apply()

if what == "add":
    with adding(place, Wish(wanted=["remit-ebb"])) as addition:
        run(addition.apply)
elif what == "upgrade":
    with upgrading(place, "tide", change=["moon"]) as found:
        run(found.whole.apply)
else:
    run(removing(place, "tide").apply)
"""


def wheels(index: Path) -> None:
    write_wheel(index, "moon", "1.0", {"moon.py": "one"})
    pack_wheel(index, requires=["moon"])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment with tide 1.0; tide 1.1 and ebb are to be had."""
    folder = prepared(tmp_path_factory.mktemp("base"), wheels, "remit-tide")
    pack_wheel(folder / "index", version="1.1", requires=["moon"])
    pack_wheel(folder / "index", "ebb")
    return folder


@pytest.fixture
def place(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return copied(base, tmp_path, monkeypatch)


def start(place: Place, what: str, where: str = "", how: str = "") -> subprocess.Popen[bytes]:
    folder = str(Path(place.folder).parent)
    command = [sys.executable, "-c", PROGRAM, folder, what, where, how]
    return subprocess.Popen(command, cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL)


def contents(place: Place) -> dict[str, bytes]:
    """Return every file of the environment that does not come and go by itself, and those of the deployment."""
    site, folder = place.environment.site, Path(place.folder)
    files = [path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path): path.read_bytes() for path in (*files, folder / "remit.toml", folder / "remit.lock")}


POINTS = [("upgrade", "former", "after")]
ALL = bool(os.environ.get("REMIT_TEST_ALL_CRASHES"))
FURTHER = [
    ("add", "pip.install", "before"),
    ("add", "pip.install", "after"),
    ("add", "files", "before"),
    ("add", "files", "after"),
    ("upgrade", "pip.install", "before"),
    ("upgrade", "pip.install", "after"),
    ("upgrade", "files", "after"),
    ("remove", "pip.uninstall", "before"),
    ("remove", "pip.uninstall", "after"),
]
"""Further points, for who changes the journal: REMIT_TEST_ALL_CRASHES=1. They take half a minute."""


@pytest.mark.parametrize(("what", "where", "how"), [*POINTS, *(FURTHER if ALL else [])])
def test_whatever_was_begun_is_undone(place: Place, what: str, where: str, how: str) -> None:
    before, digest = contents(place), read_files(place.folder).digest
    with start(place, what, where, how) as process:
        assert process.wait(timeout=60) == -signal.SIGKILL
    told = mend()
    assert "was interrupted" in told and "as they were" in told, told
    assert contents(place) == before
    assert place.files().digest == digest, "it is still accepted"
    assert mend() == "" and list((state_root() / "installing").iterdir()) == []


def test_it_is_undone_when_pip_itself_is_in_the_middle(place: Place) -> None:
    before = contents(place)
    journal = state_root() / "installing" / "journal.json"
    with start(place, "remove") as process:
        _until(journal.exists)
        process.kill()
        process.wait(timeout=60)
    assert "was interrupted" in mend(), "it waits for pip, which still has the turn"
    assert contents(place) == before


def test_the_next_command_mends_first_and_then_does_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from remit.cli.main import run

    with start(place, "remove", "pip.uninstall", "after") as process:
        process.wait(timeout=60)
    assert "remit_tide" not in site_names(place), "the control: the crash did damage"
    monkeypatch.setattr("remit.installing.environment.Environment.here", lambda: place.environment)
    assert run(["sync", "--locked", "-C", str(place.folder)]) == 0
    shown = capsys.readouterr()
    assert "note: a command that was interrupted" in shown.err and "(remove remit-tide 1.0)" in shown.err
    assert "tide" in shown.out and "ok" in shown.out and "installed" not in shown.out


def test_what_a_person_changed_meanwhile_stays(place: Place) -> None:
    with start(place, "remove", "pip.uninstall", "after") as process:
        process.wait(timeout=60)
    config = Path(place.folder, "remit.toml")
    config.write_text(config.read_text() + "\n# mine\n")
    changed = config.read_text()
    assert "was changed since and stays as it is" in mend()
    assert config.read_text() == changed and "remit_tide" in site_names(place)


def test_nothing_is_left_where_everything_went_well(place: Place) -> None:
    removing(place, "tide").apply()
    assert list((state_root() / "installing").iterdir()) == [] and mend() == ""
    assert site_names(place) == ["moon-1.0.dist-info", "moon.py"]


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def _with_pip(place: Place, *arguments: str) -> None:
    """Change the environment as a person does, who knows nothing of Remit."""
    command = [place.environment.python, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    subprocess.run(command, check=True, timeout=60)


def test_an_environment_that_is_gone_stands_in_nobodys_way(place: Place) -> None:
    with start(place, "add", "pip.install", "after") as process:
        process.wait(timeout=60)
    shutil.rmtree(place.environment.prefix)
    assert f"its environment {place.environment.prefix} is gone; the deployment is as it was" in mend()
    assert mend() == "" and not place.environment.prefix.exists()


def test_what_a_person_installed_meanwhile_stays(place: Place) -> None:
    """The pip of the removal went on to its end; the person helps themselves, and has another version now."""
    with start(place, "remove", "pip.uninstall", "after") as process:
        process.wait(timeout=60)
    _with_pip(place, "install", "remit-tide==1.1")
    assert "was changed by another hand since and stays as it is" in mend() and mend() == ""
    assert [name for name in site_names(place) if name.startswith("remit_tide-")] == ["remit_tide-1.1.dist-info"]


@pytest.mark.parametrize("how", ["after", *(["before"] if ALL else [])])
def test_a_pack_that_a_person_installed_again_is_not_taken_away(place: Place, how: str) -> None:
    with start(place, "add", "pip.install", how) as process:
        process.wait(timeout=60)
    _with_pip(place, "install", "--force-reinstall", "remit-ebb")
    told = mend()
    assert how == "before" or "was changed by another hand since" in told
    assert "remit_ebb" in site_names(place)


def test_an_environment_that_was_made_anew_is_another_one(place: Place) -> None:
    with start(place, "remove", "pip.uninstall", "after") as process:
        process.wait(timeout=60)
    made = place.environment.prefix / "pyvenv.cfg"
    os.utime(made, ns=(0, made.stat().st_mtime_ns + 1))
    assert "was changed by another hand since" in mend() and "remit_tide" not in site_names(place)
