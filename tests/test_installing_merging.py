"""Two people lock packs on two branches: git merges, and Remit says what no merge can settle."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.enable import enable
from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.errors import LockError, NotTrusted
from remit.packs.lock import Lock, format_lock, parse_lock, read_lock
from tests.dist_info import write_pack
from tests.index_parts import CELLS

DATA = Path(__file__).parent / "data"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    for name in ("ebb", "gale", "tide"):
        write_pack(folder, name)
    return folder


@pytest.fixture
def folder(tmp_path: Path, site: Path) -> Path:
    """A deployment under version control, with tide enabled, and a branch `other` beside `main`."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = tmp_path / "deployment"
    made.mkdir()
    init(made, enforcement="available").apply()
    lock(made, "tide", site)
    git(made, "init", "-q", "-b", "main")
    commit(made)
    git(made, "branch", "other")
    return made


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=check)
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "packs")


def lock(folder: Path, pack: str, site: Path) -> None:
    enable(folder, pack, paths=[str(site)], sandbox=CELLS).apply()


def unmerged(folder: Path) -> list[str]:
    return git(folder, "diff", "--name-only", "--diff-filter=U").split()


def test_two_branches_that_each_enabled_a_pack(folder: Path, site: Path) -> None:
    lock(folder, "ebb", site)
    ours = (folder / "remit.toml").read_text()
    commit(folder)
    git(folder, "checkout", "-q", "other")
    trust(folder)
    lock(folder, "gale", site)
    theirs = (folder / "remit.toml").read_text()
    commit(folder)
    git(folder, "merge", "-q", "main", check=False)
    assert unmerged(folder) == ["remit.toml"]  # a person decides what is enabled
    assert list(read_lock(folder / "remit.lock").packs) == ["ebb", "gale", "tide"]
    start = theirs.index("[packs.gale]")
    (folder / "remit.toml").write_text(f"{ours.rstrip()}\n\n{theirs[start:]}")
    with pytest.raises(NotTrusted, match="pack ebb is enabled"):
        Deployment.open(folder, paths=[str(site)])
    trust(folder)
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert sorted(deployment.skills) == ["ebb.run", "gale.run", "tide.run"]
        assert deployment.problems == ()


def test_two_branches_that_locked_one_pack_differently(folder: Path, site: Path) -> None:
    for branch, version in (("main", "1.5"), ("other", "1.6")):
        git(folder, "checkout", "-q", branch)
        trust(folder)
        shutil.rmtree(next(site.glob("tide_pack-*.dist-info")))
        write_pack(site, "tide", version=version)
        lock(folder, "tide", site)
        commit(folder)
    git(folder, "merge", "-q", "main", check=False)
    with pytest.raises(LockError, match="two branches locked pack tide differently") as caught:
        read_lock(folder / "remit.lock")
    assert "git checkout --ours remit.lock" in caught.value.remedy
    with pytest.raises(LockError):
        Deployment.open(folder, paths=[str(site)])
    git(folder, "reset", "-q", "--hard", "HEAD~1")
    git(folder, "rm", "-q", ".gitattributes")
    commit(folder)
    git(folder, "merge", "-q", "main", check=False)
    assert unmerged(folder) == ["remit.lock"]
    with pytest.raises(LockError, match="a merge was left unfinished"):
        read_lock(folder / "remit.lock")


def test_a_lock_of_an_older_remit_loads_and_stays_as_it_is() -> None:
    text = (DATA / "lock-1" / "remit.lock").read_text("utf-8")
    old = parse_lock(text)
    assert {name: (pack.version, dict(pack.wheels)) for name, pack in old.packs.items()} == {
        "clock": ("0.1.0", {}),
        "slow": ("1.0.0", {}),
    }
    assert old.packs["slow"].skills["patient"].effect == "read"
    assert format_lock(old) == text


def test_a_lock_of_a_newer_remit_says_what_to_do() -> None:
    with pytest.raises(LockError, match=r"lock = 2: a newer Remit has written it; this one reads 1") as caught:
        parse_lock(format_lock(Lock()).replace("lock = 1", "lock = 2"))
    assert caught.value.remedy == "pip install --upgrade remit"
