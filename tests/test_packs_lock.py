"""The lock: deterministic, mergeable text; drift and widening are noticed and named."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import LockError, ManifestError, PackError
from remit.packs.describe import SkillDescription
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack
from remit.packs.lock import (
    Lock,
    LockedPack,
    LockedSkill,
    drift,
    format_lock,
    lock_pack,
    parse_lock,
    read_lock,
    widened,
    write_lock,
)
from remit.packs.manifest import parse_manifest, read_pack_manifest
from remit.packs.permissions import Permission
from tests.dist_info import write_editable, write_pack

MANIFEST = """\
manifest = 1
[pack]
name = "{name}"
[settings]
host = "api.example:443"
[permissions]
net = ["${setting.host}"]
fs.read = ["${workspace}/**"]
[[skill]]
name = "run"
handler = "{package}:run"
effect = "external"
impact = ["publish"]
uses = ["net"]
[[skill]]
name = "look"
handler = "{package}:look"
effect = "read"
"""
SCHEMA = {"type": "object", "properties": {"it's": {"type": "string", "description": 'caf\u00e9 "x" \u202e'}}}
DESCRIBED = {
    "run": SkillDescription(name="run", description='Runs.\nTwice: "now".', schema=SCHEMA),
    "look": SkillDescription(name="look", refused="a recursive type"),
}


def _installed(site: Path) -> InstalledPack:
    return discover([str(site)]).packs["tide"]


def _pack(tmp_path: Path) -> InstalledPack:
    site = tmp_path / "site-packages"
    write_pack(site, manifest=MANIFEST, files={"skills.py": "x = 1\n"})
    return _installed(site)


def _locked(pack: InstalledPack) -> LockedPack:
    return lock_pack(pack, read_pack_manifest(pack), DESCRIBED)


def _drift(pack: InstalledPack, locked: LockedPack) -> tuple[str, ...]:
    return drift(pack, read_pack_manifest(pack), locked)


def test_an_unchanged_pack_has_not_drifted(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    assert _drift(pack, locked) == ()
    assert locked.permission.net == ("api.example:443",)
    assert locked.skills["run"].permission == Permission(net=("api.example:443",))
    assert locked.skills["look"].refused == "a recursive type"
    assert widened(read_pack_manifest(pack), locked) == ()


def test_a_lock_is_read_back_exactly(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    lock = Lock().with_pack("tide", _locked(pack))
    path = tmp_path / "remit.lock"
    write_lock(path, lock)
    assert read_lock(path) == lock
    text = path.read_text()
    assert text == format_lock(read_lock(path))
    assert str(tmp_path) not in text
    assert "\u202e" not in text
    assert "caf\u00e9" in text
    assert [entry.name for entry in tmp_path.glob(".*")] == []
    assert lock.without_pack("tide") == Lock()


def test_each_line_is_one_whole_fact(tmp_path: Path) -> None:
    text = format_lock(Lock().with_pack("tide", _locked(_pack(tmp_path))))
    lines = text.splitlines()[2:]
    assert lines == sorted(lines)
    assert all(line.startswith("packs.tide.") for line in lines)
    shuffled = random.Random(7).sample(lines, len(lines))
    assert parse_lock("lock = 1\n" + "\n".join(shuffled)) == parse_lock(text)


def test_branches_that_add_packs_merge_in_git(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    locked = _locked(_pack(tmp_path))
    texts = {}
    for name, packs in (("base", "bm"), ("one", "abm"), ("two", "bmz")):
        lock = Lock(packs=dict.fromkeys(packs, locked))
        texts[name] = tmp_path / name
        texts[name].write_text(format_lock(lock))
    command = ["git", "merge-file", "-p", *(str(texts[name]) for name in ("one", "base", "two"))]
    merged = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert sorted(parse_lock(merged).packs) == ["a", "b", "m", "z"]


@pytest.mark.parametrize("path", ["tide_pack/skills.py", "tide_pack/extra.py", "tide_pack/skills/__init__.py"])
def test_a_changed_or_added_file_is_drift(tmp_path: Path, path: str) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    target = pack.root.parent / path
    target.parent.mkdir(exist_ok=True)
    target.write_text("import os\n")
    assert _drift(pack, locked) == ("its files changed",)


def test_a_removed_or_linked_file_is_drift(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    (pack.root / "skills.py").unlink()
    assert _drift(pack, locked) == ("its files changed",)
    (pack.root / "skills.py").write_text("x = 1\n")
    (pack.root / "more").symlink_to(tmp_path / "nowhere")
    assert _drift(pack, locked) == ("its files changed",)
    (pack.root / "more").unlink()
    (pack.root / "more").symlink_to(tmp_path)
    with pytest.raises(PackError, match="symbolic link to a folder"):
        _drift(pack, locked)
    (pack.root / "more").unlink()
    assert _drift(pack, locked) == ()


def test_caches_are_no_drift_and_metadata_is(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    (pack.root / "__pycache__").mkdir()
    (pack.root / "__pycache__" / "skills.pyc").write_bytes(b"x")
    (pack.metadata / "INSTALLER").write_text("pip")
    assert _drift(pack, locked) == ()
    with (pack.metadata / "METADATA").open("a") as file:
        file.write("more\n")
    assert _drift(pack, locked) == ("its files changed",)


def test_a_changed_manifest_names_the_skills(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    text = pack.manifest.read_text().replace('impact = ["publish"]', "").replace('name = "look"', 'name = "see"')
    pack.manifest.write_text(text)
    changes = _drift(pack, locked)
    assert set(changes) == {
        "its pack.toml changed",
        "skill run changed its table",
        "skill see is new",
        "skill look is gone",
        "its files changed",
    }


def test_another_distribution_version_or_kind_is_drift(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    assert _drift(pack, replace(locked, version="1.3")) == ("its version is 1.4, locked was 1.3",)
    assert _drift(pack, replace(locked, distribution="Tide_Pack")) == ()
    assert "comes from tide-pack" in _drift(pack, replace(locked, distribution="other"))[0]
    assert "its package is" in _drift(pack, replace(locked, package="other"))[0]
    assert "locked was a development install" in _drift(pack, replace(locked, editable=True))[0]


def test_compiled_files_are_held_per_machine(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write_pack(site, manifest=MANIFEST, extra=["tide_pack.libs/libz.so.1,,"])
    (site / "tide_pack.libs").mkdir()
    (site / "tide_pack.libs" / "libz.so.1").write_bytes(b"library")
    pack = _installed(site)
    (pack.metadata / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
    (pack.root / "fast.so").write_bytes(b"linux")
    linux = _locked(pack)
    assert list(linux.compiled) == ["cp311-cp311-linux_x86_64"]
    assert parse_lock(format_lock(Lock(packs={"tide": linux}))).packs["tide"] == linux

    (pack.metadata / "WHEEL").write_text("Tag: cp311-cp311-macosx_11_0_arm64\n")
    (pack.root / "fast.so").write_bytes(b"mac")
    assert _drift(pack, linux) == ("its compiled files for cp311-cp311-macosx_11_0_arm64 are not locked yet",)
    both = lock_pack(pack, read_pack_manifest(pack), DESCRIBED, before=linux)
    assert len(both.compiled) == 2
    assert both.files == linux.files
    assert _drift(pack, both) == ()

    (site / "tide_pack.libs" / "libz.so.1").write_bytes(b"changed")
    assert _drift(pack, both) == ("its compiled files changed",)
    upgraded = lock_pack(pack, read_pack_manifest(pack), DESCRIBED, before=replace(both, version="1.3"))
    assert len(upgraded.compiled) == 1


def test_an_editable_install_is_labelled_and_does_not_drift(tmp_path: Path) -> None:
    site, project = tmp_path / "site-packages", tmp_path / "project"
    root = write_editable(site, project)
    pack = _installed(site)
    locked = _locked(pack)
    assert locked.editable
    assert locked.source == str(project)
    text = format_lock(Lock(packs={"tide": locked}))
    assert "packs.tide.editable = true" in text
    assert format_lock(Lock(packs={"tide": _locked(_installed(site))})) == text
    (root / "__init__.py").write_text("changed = True\n")
    assert _drift(pack, locked) == ()
    assert "is an ordinary install" not in _drift(pack, locked)


def test_a_hand_edited_schema_does_not_fit_its_hash(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    text = format_lock(Lock(packs={"tide": _locked(pack)})).replace("Runs.", "Runs. Obey me.")
    assert _drift(pack, parse_lock(text).packs["tide"]) == (
        "skill run: the lock's own description and schema do not fit its hash",
    )


def test_a_manifest_of_another_pack_is_no_drift_but_an_error(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    other = parse_manifest(pack.manifest.read_bytes().replace(b'name = "tide"', b'name = "files"'), pack.manifest)
    with pytest.raises(ManifestError, match=r"pack\.name is files"):
        drift(pack, other, locked)
    with pytest.raises(ManifestError, match=r"pack\.name is files"):
        lock_pack(pack, other, DESCRIBED)


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ('["${setting.host}"]', '["*:443"]', "asks for net: *:443"),
        ('host = "api.example:443"', 'host = "evil.example:443"', "asks for net: evil.example:443"),
        ("[[skill]]", "exec = ['git']\n[[skill]]", "asks for exec: git"),
        ('effect = "external"', 'effect = "read"', "skill run declares read, it was external"),
        ('impact = ["publish"]', "", "skill run no longer declares the impact publish"),
        ('effect = "read"', 'uses = ["fs.read"]', "skill look asks for fs.read: ${workspace}/**"),
        ('name = "look"', 'name = "see"', "skill see is new"),
        ("[[skill]]", 'limits.memory = "2GiB"\n[[skill]]', f"asks for limits.memory: {2 * 1024**3}"),
    ],
)
def test_widening_is_named(tmp_path: Path, old: str, new: str, wider: str) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    text = pack.manifest.read_text()
    assert old in text
    changed = parse_manifest(text.replace(old, new, 1).encode(), pack.manifest)
    assert wider in widened(changed, locked)


def test_narrowing_is_no_widening(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    text = pack.manifest.read_text().replace('uses = ["net"]', "").replace('effect = "read"', 'effect = "write"')
    assert widened(parse_manifest(text.encode(), pack.manifest), locked) == ()


def test_the_hash_of_a_skill_covers_table_content_and_files(tmp_path: Path) -> None:
    locked = _locked(_pack(tmp_path))
    skill = locked.skills["run"]
    variants = [
        locked,
        replace(locked, files="sha256:" + "0" * 64),
        replace(locked, version="2"),
        replace(locked, skills={**locked.skills, "run": replace(skill, table="sha256:" + "0" * 64)}),
        replace(locked, skills={**locked.skills, "run": replace(skill, content="sha256:" + "0" * 64)}),
    ]
    assert len({variant.skill_hash("run") for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("lock = 1", "lock = 9"), "lock = 9: a newer Remit has written it; this one reads 1"),
        (lambda text: "", "is not known to this Remit"),
        (lambda text: text + "packs.tide.version = '9'\n", "two branches locked pack tide differently"),
        (lambda text: text + "<<<<<<< ours\n", "a merge was left unfinished"),
        (lambda text: text + "packs.tide.verison = '9'\n", "packs.tide.verison is not known"),
        (lambda text: text + "pack.tide = 1\n", "pack is not known"),
        (lambda text: text.replace('version = "1.4"', "version = 1.4"), "packs.tide.version must be str"),
        (lambda text: text.replace('packs.tide.version = "1.4"', ""), "packs.tide.version is missing"),
        (lambda text: text.replace('files = "sha256:', 'files = "sha1:'), "packs.tide.files is no hash"),
        (lambda text: text.replace("schema = '{", "schema = '["), "schema is no JSON"),
        (lambda text: text.replace('effect = "read"', 'effect = "none"'), "none that Remit knows"),
        (lambda text: text.replace('"publish"', '"nothing"'), "none that Remit knows"),
        (lambda text: text.replace('["api.example:443"]', '["api"]'), "is no network pattern"),
        (lambda text: text.replace("packs.tide.skills.run.", "packs.tide.skills."), "must be dict"),
        (lambda text: "x = " + "[" * 20_000, "cannot be read"),
    ],
)
def test_locks_that_are_refused(tmp_path: Path, change: object, message: str) -> None:
    text = format_lock(Lock(packs={"tide": _locked(_pack(tmp_path))}))
    parse_lock(text)
    assert callable(change)
    with pytest.raises(LockError, match=r"^remit\.lock: ") as caught:
        parse_lock(change(text))
    assert message in str(caught.value)
    assert caught.value.remedy


def test_lock_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "absent.lock") == Lock()
    path = tmp_path / "remit.lock"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LockError, match="is not UTF-8"):
        read_lock(path)
    with path.open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(LockError, match="is larger than 16 MiB"):
        read_lock(path)
    with pytest.raises(LockError, match="cannot be read"):
        read_lock(tmp_path)
    with pytest.raises(LockError, match="cannot be written"):
        write_lock(tmp_path / "absent" / "remit.lock", Lock())


@given(st.text(max_size=50), st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3))
def test_any_text_survives_the_file(text: str, schema: dict[str, str]) -> None:
    skill = LockedSkill(table="sha256:" + "1" * 64, content="sha256:" + "2" * 64, description=text, schema=schema)
    pack = LockedPack(
        distribution="d",
        version="1",
        package="p",
        files="sha256:" + "3" * 64,
        manifest="sha256:" + "4" * 64,
        skills={"run": skill},
    )
    lock = Lock(packs={"tide": pack})
    written = format_lock(lock)
    assert all(char.isprintable() or char == "\n" for char in written)
    assert parse_lock(written) == lock


def test_a_lock_is_read_without_pydantic() -> None:
    code = "import sys, remit.packs.lockfile; print('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_a_file_that_cannot_be_read_is_an_error_of_that_pack(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    manifest = read_pack_manifest(pack)
    shutil.rmtree(pack.root)
    with pytest.raises(PackError, match=r"pack tide: .* cannot be read"):
        drift(pack, manifest, locked)


def test_folders_of_any_depth_are_hashed(tmp_path: Path) -> None:
    pack = _pack(tmp_path)
    locked = _locked(pack)
    folders = [pack.root]
    for _ in range(1100):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    try:
        (folders[-1] / "x.py").touch()
        assert _drift(pack, locked) == ("its files changed",)
    finally:
        (folders[-1] / "x.py").unlink()
        for folder in reversed(folders[1:]):
            folder.rmdir()
