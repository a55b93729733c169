"""Describing a pack: schemas come from a cell without rights, and are hostile until accepted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import PackError
from remit.packs.describe import LONGEST_DESCRIPTION, clean, describe_pack, judge_description
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack
from remit.packs.lock import drift, lock_pack
from remit.packs.manifest import Manifest, read_pack_manifest
from remit.packs.sites import import_paths
from remit_sandbox import Sandbox
from remit_sandbox.values import Described
from tests.dist_info import MANIFEST, write_editable, write_pack
from tests.packaging import build_site

GOOD = Described(schema=b'{"type": "object", "properties": {"x": {"type": "integer"}}}', description="Does it.")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


def _found(site: Path, name: str) -> tuple[InstalledPack, Manifest, list[str]]:
    pack = discover([str(site)]).packs[name]
    return pack, read_pack_manifest(pack), [str(site), *import_paths()]


def test_a_good_pack_is_described_without_being_imported_here(tmp_path: Path, sandbox: Sandbox) -> None:
    pack, manifest, paths = _found(build_site(tmp_path, "good"), "good")
    described = describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")
    assert list(described) == list(manifest.skills)
    add = described["add"]
    assert add.refused == ""
    assert add.schema["type"] == "object"
    assert add.schema["required"] == ["a"]
    assert add.description
    assert "remit_test_good" not in sys.modules
    locked = lock_pack(pack, manifest, described)
    assert locked.skills["add"].schema == add.schema
    assert drift(pack, manifest, locked) == ()


def test_describing_twice_gives_the_same(tmp_path: Path, sandbox: Sandbox) -> None:
    pack, manifest, paths = _found(build_site(tmp_path, "good"), "good")
    first = describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")
    assert describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available") == first


def test_a_pack_that_raises_at_import_is_an_error_of_that_pack(tmp_path: Path, sandbox: Sandbox) -> None:
    site = build_site(tmp_path, "raises_at_import")
    pack, manifest, paths = _found(site, next(iter(discover([str(site)]).packs)))
    with pytest.raises(PackError, match=f"pack {pack.name} cannot be imported") as caught:
        describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")
    assert "__init__.py" in caught.value.traceback


def test_a_missing_handler_leaves_only_that_skill_out(tmp_path: Path, sandbox: Sandbox) -> None:
    site = tmp_path / "site-packages"
    write_pack(site, manifest=MANIFEST + '[[skill]]\nname = "absent"\nhandler = "{package}:absent"\n')
    (site / "tide_pack" / "__init__.py").write_text('def run() -> str:\n    """Run."""\n    return "ran"\n')
    pack, manifest, paths = _found(site, "tide")
    described = describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")
    assert described["run"].description == "Run."
    assert described["run"].refused == ""
    assert "absent" in described["absent"].refused


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import sys; sys.exit(0)", "import os; os.abort()"])
def test_a_pack_that_ends_its_process_is_an_error_of_that_pack(tmp_path: Path, sandbox: Sandbox, code: str) -> None:
    site = tmp_path / "site-packages"
    write_pack(site)
    (site / "tide_pack" / "__init__.py").write_text(f"{code}\n")
    pack, manifest, paths = _found(site, "tide")
    with pytest.raises(PackError, match="pack tide"):
        describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")


def test_an_editable_install_is_described_from_its_project(tmp_path: Path, sandbox: Sandbox) -> None:
    site = tmp_path / "site-packages"
    root = write_editable(site, tmp_path / "project")
    (root / "__init__.py").write_text(
        'def run(words: list[str]) -> str:\n    """Run.\n\n    Args:\n        words: some\n    """\n'
    )
    pack, manifest, paths = _found(site, "tide")
    described = describe_pack(pack, manifest, sandbox, paths=paths, enforcement="available")
    assert described["run"].schema["properties"]["words"]["type"] == "array"


@pytest.mark.confinement
def test_the_cell_has_no_right(tmp_path: Path, sandbox: Sandbox) -> None:
    site = tmp_path / "site-packages"
    write_pack(site)
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    code = (
        "def run() -> str:\n    return ''\n"
        "try:\n    run.__doc__ = open({path!r}).read()\nexcept OSError:\n    run.__doc__ = 'refused'\n"
    )
    (site / "tide_pack" / "__init__.py").write_text(code.format(path=str(secret)))
    pack, manifest, paths = _found(site, "tide")
    assert describe_pack(pack, manifest, sandbox, paths=paths)["run"].description == "refused"
    (site / "tide_pack" / "inner.txt").write_text("readable")
    (site / "tide_pack" / "__init__.py").write_text(code.format(path=str(site / "tide_pack" / "inner.txt")))
    assert describe_pack(pack, manifest, sandbox, paths=paths)["run"].description == "readable"


def test_what_a_cell_says_is_accepted_or_refused() -> None:
    accepted = judge_description("run", GOOD)
    assert accepted.refused == ""
    assert accepted.schema["properties"] == {"x": {"type": "integer"}}
    assert "said nothing" in judge_description("run", None).refused
    assert judge_description("run", Described(error="no such\x1b[31m function")).refused == "no such[31m function"
    for text in (b"", b"[]", b"{", b'{"type": "string"}', b'{"$ref": "file:///etc/passwd"}', b"[" * 100_000):
        assert judge_description("run", Described(schema=text)).refused


def test_descriptions_are_capped_and_cleaned() -> None:
    text = "Use\u202e it\x00 now\u200b.\n\tSee below. " + "x" * 5000
    said = judge_description("run", Described(schema=GOOD.schema, description=text, notes=("n\x07",) * 100))
    assert said.description.startswith("Use it now.\n\tSee below. xxx")
    assert said.description.endswith(" ...")
    assert len(said.description) <= LONGEST_DESCRIPTION
    assert said.notes == ("n",) * 20


@given(st.text(st.characters(), max_size=200), st.integers(10, 100))
def test_cleaned_text_is_fit_to_be_shown(text: str, longest: int) -> None:
    cleaned = clean(text, longest)
    assert len(cleaned) <= longest
    assert clean(cleaned, longest) == cleaned
    cleaned.encode("utf-8")
    assert json.loads(json.dumps(cleaned)) == cleaned


def test_what_a_model_will_miss_is_noted() -> None:
    bare = Described(schema=b'{"type": "object", "properties": {"x": {"title": "X"}, "y": {"type": "string"}}}')
    assert judge_description("run", bare).notes == (
        "its handler has no docstring, so a model does not learn when to use it",
        "no type hint for x: any value is passed on",
    )
    assert judge_description("run", GOOD).notes == ()
