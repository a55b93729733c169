"""From what was seen to a table: the smallest patterns, and what a person must know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.deployment.manifest_edit import add_to_manifest, as_toml
from remit.deployment.needs import MANY, Ground, needs
from remit.errors import ManifestError


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    root = tmp_path.resolve()
    for name in ("workspace/docs", "workspace/out", "data", "cell", "library", "elsewhere"):
        (root / name).mkdir(parents=True)
    for name in ("workspace/notes.txt", "workspace/docs/a", "library/x.py", "elsewhere/list", "data/base.db"):
        (root / name).write_text("x")
    return Ground(
        anchors={"workspace": root / "workspace", "data": root / "data"},
        tmp=str(root / "cell"),
        always=(str(root / "library"),),
    )


def table(ground: Ground, *, broad: bool = False, **seen: str) -> Mapping[str, tuple[str, ...]]:
    root = ground.anchors["workspace"].parent
    places = {kind: frozenset(f"{root}/{name}" for name in text.split()) for kind, text in seen.items()}
    return needs(places, (), ground, broad=broad).table


def test_what_every_cell_has_is_not_asked_for(ground: Ground) -> None:
    assert table(ground, read="library/x.py cell/tmp.txt", make="cell/new", list="cell library") == {}


def test_files_are_named_one_by_one_and_folders_when_they_are_listed(ground: Ground) -> None:
    assert table(ground, read="workspace/notes.txt elsewhere/list") == {
        "fs.read": ("${workspace}/notes.txt", f"{ground.anchors['workspace'].parent}/elsewhere/list")
    }
    assert table(ground, read="workspace/docs/a", list="workspace/docs") == {"fs.read": ("${workspace}/docs/**",)}
    assert table(ground, read="workspace/missing") == {}


def test_many_files_of_a_folder_become_the_folder(ground: Ground) -> None:
    names = [f"workspace/docs/{number}" for number in range(MANY + 1)]
    for name in names:
        (ground.anchors["workspace"].parent / name).write_text("x")
    assert table(ground, read=" ".join(names[:MANY]))["fs.read"] != ("${workspace}/docs/**",)
    assert table(ground, read=" ".join(names)) == {"fs.read": ("${workspace}/docs/**",)}


def test_making_needs_the_folder_and_changing_only_the_file(ground: Ground) -> None:
    assert table(ground, make="workspace/out/new.txt") == {"fs.write": ("${workspace}/out/**",)}
    assert table(ground, change="workspace/notes.txt") == {"fs.write": ("${workspace}/notes.txt",)}
    assert table(ground, make="data/base.db", read="data/base.db") == {"fs.write": ("${data}/**",)}


def test_relative_paths_need_the_whole_workspace(ground: Ground) -> None:
    seen = {"read": "workspace/notes.txt", "relative": "workspace/notes.txt"}
    assert table(ground, **seen) == {"fs.read": ("${workspace}/**",)}


def test_broad_gives_folders_and_the_workspace(ground: Ground) -> None:
    assert table(ground, read="workspace/docs/a", broad=True) == {"fs.read": ("${workspace}/**",)}
    assert table(ground, change="workspace/out/a", broad=True) == {}


def test_hosts_programs_and_variables(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GREETING", "hi")
    seen = {
        "env": frozenset({"GREETING", "PATH", "NOT_SET"}),
        "secret": frozenset({"token"}),
        "run": frozenset({"/opt/own/tool"}),
        "shm": frozenset({""}),
    }
    found = needs(seen, ["b.example:443", "a.example:80", "b.example:443"], ground)
    assert found.table == {
        "net": ("a.example:80", "b.example:443"),
        "exec": ("/opt/own/tool",),
        "env": ("GREETING",),
        "secrets": ("token",),
        "shm": ("true",),
    }
    assert any("programs themselves" in note for note in found.notes)
    assert any("NOT_SET" in note for note in found.notes)


MANIFEST = """\
manifest = 1
# a comment that stays
[pack]
name = "greet"
summary = "Greets"
[permissions]
net = ["a.example:443"]
fs.read = ["${workspace}/docs/**"]
[[skill]]
name = "hello"
handler = "remit_greet:hello"
effect = "read"
[[skill]]
name = "other"
handler = "remit_greet:hello"
effect = "read"
uses = ["net"]
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    package = tmp_path / "greet" / "remit_greet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "pack.toml").write_text(MANIFEST)
    return package.parent


def test_a_manifest_is_widened_and_the_skill_uses_its_part(pack: Path) -> None:
    learned = {"fs.read": ("${workspace}/a.txt",), "net": ("b.example:1",), "shm": ("true",)}
    path = add_to_manifest(pack, "hello", learned)
    text = path.read_text("utf-8")
    assert "# a comment that stays" in text
    from remit.packs.manifest import read_manifest

    manifest = read_manifest(path, package="remit_greet")
    assert manifest.permission().net == ("a.example:443", "b.example:1")
    assert manifest.permission().shm
    hello = manifest.skill_permission("hello")
    assert (hello.net, hello.fs_read, hello.shm) == (("b.example:1",), ("${workspace}/a.txt",), True)
    assert manifest.skill_permission("other").fs_read == ()
    before = path.read_text("utf-8")
    add_to_manifest(pack, "hello", learned)
    assert path.read_text("utf-8") == before


def test_a_manifest_that_would_be_wrong_stays_as_it_was(pack: Path) -> None:
    path = pack / "remit_greet" / "pack.toml"
    with pytest.raises(ManifestError):
        add_to_manifest(pack, "hello", {"net": ("no port",)})
    assert path.read_text("utf-8") == MANIFEST


def test_the_table_reads_as_toml() -> None:
    import tomllib

    text = as_toml("hello", {"fs.read": ("${workspace}/a.txt",), "shm": ("true",)})
    assert tomllib.loads(text)["permissions"] == {
        "fs": {"read": ["${workspace}/a.txt"]},
        "shm": True,
        "uses": ["fs.read", "shm"],
    }
