"""Attacks through what is installed: code that was never accepted must not run."""

from __future__ import annotations

import asyncio
import compileall
import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.enable import enable
from remit.deployment.init import init
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from tests.dist_info import write_pack

NOWHERE = Path("/nonexistent/remit.toml")
MANIFEST = """\
manifest = 1
[pack]
name = "{name}"
[[skill]]
name = "run"
handler = "{package}.skills:run"
effect = "read"
"""
CODE = 'def run() -> str:\n    """Run."""\n    return "{}"\n'


class Place:
    """A deployment with one pack, `tide`, whose `skills.py` says `accepted`."""

    def __init__(
        self, folder: Path, *, code: str = CODE.format("accepted"), effect: str = "read", more: str = ""
    ) -> None:
        self.folder, self.site = folder / "deployment", folder / "site"
        self.folder.mkdir(parents=True)
        init(self.folder, enforcement="available").apply()
        manifest = MANIFEST.replace('"read"', f'"{effect}"') + more
        self.root = write_pack(self.site, manifest=manifest, files={"__init__.py": "", "skills.py": code})

    def enable(self) -> None:
        enable(self.folder, "tide", paths=[str(self.site)], managed=NOWHERE).apply()

    def open(self, **options: Any) -> Deployment:
        return Deployment.open(self.folder, paths=[str(self.site)], managed=NOWHERE, **options)

    def pipeline(self, deployment: Deployment, **options: Any) -> Pipeline:
        return Pipeline(
            skills=deployment.skills,
            rules=deployment.rules,
            state=State(deployment.state_folder),
            sandbox=deployment.sandbox,
            **options,
        )

    def run(self, deployment: Deployment, *, read_only: Any = False, approver: Any = None, **arguments: Any) -> Result:
        pipeline = self.pipeline(deployment, read_only=read_only, approver=approver)
        asked = Call(id="c", skill="tide.run", arguments=json.dumps(arguments), session="s")
        with pipeline._around.state:
            return asyncio.run(pipeline.call(asked))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def value(result: Result) -> object:
    assert result.status == "ok", result
    return result.value


def poison(root: Path, scratch: Path) -> Path:
    """Put a cache beside `skills.py` that says `poisoned` and looks as fresh as Python's own."""
    source = root / "skills.py"
    facts = source.stat()
    honest = source.read_text()
    # The same length and time, which is all that Python compares.
    source.write_text(honest.replace("accepted", "poisoned"))
    os.utime(source, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert compileall.compile_file(source, quiet=1, force=True)
    source.write_text(honest)
    os.utime(source, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return Path(importlib.util.cache_from_source(str(source)))


def test_a_cached_compilation_that_differs_from_the_source_is_not_run(place: Place, tmp_path: Path) -> None:
    place.enable()
    cache = poison(place.root, tmp_path)
    assert cache.is_file()
    with place.open() as deployment:
        assert value(place.run(deployment)) == "accepted"
    # Control: Python itself takes the cache.
    from tests.sandbox_parts import plain_python

    code = "import sys; sys.path.insert(0, sys.argv[1]); import tide_pack.skills as skills; print(skills.run())"
    said = plain_python(code, str(place.site))
    assert said.stdout.strip() == "poisoned"


def test_other_files_in_a_cache_folder_are_part_of_the_lock(place: Place) -> None:
    hidden = place.root / "__pycache__"
    hidden.mkdir()
    (place.root / "skills.py").write_text("from tide_pack.__pycache__ import more\nrun = more.run\n")
    (hidden / "more.py").write_text(CODE.format("accepted"))
    place.enable()
    with place.open() as deployment:
        assert value(place.run(deployment)) == "accepted"
    (hidden / "more.py").write_text(CODE.format("poisoned"))
    with place.open() as deployment:
        assert "tide.run" not in deployment.skills
        assert "its files changed" in str(deployment.problems[0]), deployment.problems


def test_caches_that_python_writes_are_no_drift(place: Place) -> None:
    place.enable()
    assert compileall.compile_dir(place.root, quiet=1)
    with place.open() as deployment:
        assert deployment.problems == ()


def test_a_folder_behind_a_link_is_no_part_of_a_package(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "__init__.py").write_text(CODE.format("poisoned"))
    place.enable()
    (place.root / "more").symlink_to(outside)
    with place.open() as deployment:
        assert "tide.run" not in deployment.skills
        assert "symbolic link" in str(deployment.problems[0])
    # Control: the same files as a folder of its own are an ordinary change.
    (place.root / "more").unlink()
    shutil.copytree(outside, place.root / "more")
    with place.open() as deployment:
        assert "symbolic link" not in str(deployment.problems[0])


def test_the_package_that_was_looked_at_is_the_one_that_runs(place: Place, tmp_path: Path) -> None:
    """A package of the same name in a folder that cells search first is not imported instead."""
    place.enable()
    with place.open() as deployment:
        cell = deployment.skills["tide.run"].cell
        assert cell is not None
        other = tmp_path / "other"
        shutil.copytree(place.root, other / "tide_pack")
        (other / "tide_pack" / "skills.py").write_text(CODE.format("poisoned"))
        from dataclasses import replace

        from tests.sandbox_parts import body

        asked = {**body("run"), "handler": "tide_pack.skills:run"}
        for location, said in ((cell.location, "accepted"), (None, "poisoned")):
            spec = replace(cell, paths=(str(other), *cell.paths), location=location)
            with deployment.sandbox.borrow(spec, "s") as borrowed:
                assert json.loads(borrowed.request("call", asked, timeout=20).text) == said


def test_what_was_checked_is_what_runs(place: Place) -> None:
    """Files that change while a deployment is open, as in an upgrade under a running program."""
    place.enable()
    source = place.root / "skills.py"
    with place.open() as deployment:
        source.write_text(CODE.format("poisoned"))
        result = place.run(deployment)
        assert result.status == "failed"
        assert "skills.py has changed since the pack was checked" in result.text
        source.write_text(CODE.format("accepted"))
        assert value(place.run(deployment)) == "accepted"


def test_a_module_that_was_not_there_is_not_loaded(place: Place) -> None:
    (place.root / "skills.py").write_text(
        'def run() -> str:\n    """Run."""\n    from tide_pack import later\n    return later.WORD\n'
    )
    place.enable()
    with place.open() as deployment:
        (place.root / "later.py").write_text("WORD = 'poisoned'\n")
        assert "later.py has changed" in place.run(deployment).text
    place.enable()
    with place.open() as deployment:
        assert value(place.run(deployment)) == "poisoned"
