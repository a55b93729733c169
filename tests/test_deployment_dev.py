"""Editable installs: derived anew per run, labelled dev, and never wider than what was accepted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from remit.deployment.audit import audit_rows
from remit.deployment.deployment import Deployment
from remit.deployment.enable import enable
from remit.deployment.init import init
from tests.packaging import project


class Developed:
    """A deployment with the pack `good` installed as `pip install -e` does it."""

    def __init__(self, tmp_path: Path) -> None:
        source = Path(shutil.copytree(project("good"), tmp_path / "source"))
        self.package = source / "remit_test_good"
        self.site = tmp_path / "site"
        self.folder = tmp_path / "deployment"
        self.folder.mkdir()
        info = self.site / "remit_test_good-1.0.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: remit-test-good\nVersion: 1.0.0\n")
        (info / "entry_points.txt").write_text("[remit.packs]\ngood = remit_test_good\n")
        (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
        names = ["METADATA", "entry_points.txt", "direct_url.json", "RECORD"]
        record = [f"{info.name}/{name},," for name in names] + ["_remit_test_good.pth,,"]
        (info / "RECORD").write_text("\n".join(record) + "\n")
        (self.site / "_remit_test_good.pth").write_text(f"{source}\n")
        init(self.folder, enforcement="available").apply()
        self.enable()

    def enable(self) -> None:
        enable(self.folder, "good", paths=[str(self.site)]).apply()

    def open(self) -> Deployment:
        return Deployment.open(self.folder, paths=[str(self.site)])

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.package / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))


@pytest.fixture
def developed(tmp_path: Path) -> Developed:
    return Developed(tmp_path)


def test_edited_code_counts_without_locking_again(developed: Developed) -> None:
    with developed.open() as deployment:
        assert deployment.skills["good.add"].description.startswith("Add two numbers")
        assert all(row.dev for row in audit_rows(deployment, enforcement=()))
        before = deployment.skills["good.add"].hash
    developed.edit("skills.py", "Add two numbers.", "Add a pair of numbers.")
    with developed.open() as deployment:
        assert deployment.problems == ()
        assert deployment.skills["good.add"].description.startswith("Add a pair")
        assert deployment.skills["good.add"].hash != before
        cell = deployment.skills["good.add"].cell
        assert cell is not None and cell.location == str(developed.package.parent)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('fs.read = ["${workspace}/**"]', 'fs.read = ["${workspace}/**"]\nnet = ["*:443"]', "net: *:443"),
        ('effect = "write"\nimpact = ["destroy"]', 'effect = "write"', "impact destroy"),
        ('name = "add"', 'name = "plus"', "plus is new"),
    ],
)
def test_what_becomes_wider_waits_for_a_person(developed: Developed, old: str, new: str, reason: str) -> None:
    developed.edit("pack.toml", old, new)
    with developed.open() as deployment:
        assert deployment.skills == {}
        (problem,) = deployment.problems
        assert reason in problem.reason and "remit packs enable good" in problem.remedy
    developed.enable()
    with developed.open() as deployment:
        assert deployment.problems == () and deployment.skills


def test_what_becomes_narrower_does_not_wait(developed: Developed) -> None:
    developed.edit("pack.toml", 'fs.read = ["${workspace}/**"]', 'fs.read = ["${workspace}/docs/**"]')
    with developed.open() as deployment:
        assert deployment.problems == ()
        assert deployment.skills["good.read"].right == {"fs.read": ("${workspace}/docs/**",)}


def test_code_that_no_longer_imports_leaves_the_pack_out(developed: Developed) -> None:
    developed.edit("skills.py", "from __future__ import annotations", "raise ValueError('half done')")
    with developed.open() as deployment:
        assert deployment.skills == {}
        assert "half done" in str(deployment.problems)
