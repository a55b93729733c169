"""A pack in development runs from its folder, without being installed and without a trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from remit.deployment.try_pack import development_pack, try_pack
from remit.errors import ManifestError, PackError, SetupError
from remit.state_folder import state_root
from tests.packaging import project


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return Path(shutil.copytree(project("good"), tmp_path / "good"))


def test_a_pack_is_tried_and_leaves_nothing_behind(good: Path) -> None:
    with try_pack(good, settings={"greeting": "Salve"}, enforcement="available") as deployment:
        assert deployment.problems == ()
        skill = deployment.skills["good.greet"]
        assert skill.cell is not None and skill.cell.location == str(good)
        with deployment.sandbox.borrow(skill.cell, "s") as cell:
            body = {"handler": skill.handler, "arguments": b'{"name": "Ann"}', "context": {"session": "s", "call": "c"}}
            assert cell.request("call", body, timeout=10).text == b'"Salve, Ann"'
        assert deployment.config.defaults.write == "allow"
        place = deployment.folder
        assert place.is_dir()
    assert not place.exists()
    assert not (state_root() / "deployments").exists()


def test_edits_count_at_once(good: Path) -> None:
    with try_pack(good, enforcement="available") as deployment:
        assert "good.shout" not in deployment.skills
    package = good / "remit_test_good"
    with (package / "skills.py").open("a") as file:
        file.write('\n\ndef shout(text: str) -> str:\n    """Shout."""\n    return text.upper()\n')
    with (package / "pack.toml").open("a") as file:
        file.write('\n[[skill]]\nname = "shout"\nhandler = "remit_test_good.skills:shout"\neffect = "read"\n')
    with try_pack(good, enforcement="available") as deployment:
        assert deployment.skills["good.shout"].description == "Shout."


def test_src_layout_flat_layout_and_the_bare_package_are_found(good: Path) -> None:
    flat = development_pack(good)
    assert (flat.name, flat.package, flat.distribution, flat.version) == (
        "good",
        "remit_test_good",
        "remit-test-good",
        "1.0.0",
    )
    (good / "src").mkdir()
    (good / "remit_test_good").rename(good / "src" / "remit_test_good")
    assert development_pack(good).root == good / "src" / "remit_test_good"
    assert development_pack(good / "src" / "remit_test_good").name == "good"


def test_what_is_no_pack_is_said(good: Path, tmp_path: Path) -> None:
    with pytest.raises(PackError, match="no folder"):
        try_pack(tmp_path / "none")
    with pytest.raises(PackError, match=r"no package with a pack\.toml"):
        try_pack(project("no_manifest"))
    manifest = good / "remit_test_good" / "pack.toml"
    original = manifest.read_text()
    manifest.write_text(original.replace('name = "good"', 'name = "other"', 1))
    with pytest.raises(SetupError, match="other"):
        try_pack(good, enforcement="available")
    manifest.write_text(original + "\nnonsense = 1\n")
    with pytest.raises(ManifestError, match="nonsense"):
        try_pack(good, enforcement="available")
    manifest.write_text(original)
    try_pack(good, enforcement="available").close()


def test_a_pack_that_raises_at_import_shows_its_own_lines(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="cannot be imported") as caught:
        try_pack(project("raises_at_import"), enforcement="available")
    assert "remit_test_raises/__init__.py" in caught.value.traceback
