"""`remit packs try`: a pack in development, without a deployment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import remit
from tests.packaging import project
from tests.processes import wait_until


@pytest.fixture
def good(tmp_path: Path) -> Path:
    copy = tmp_path / "good"
    shutil.copytree(project("good"), copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_without_a_skill_it_lists_what_the_pack_offers(good: Path, tmp_path: Path) -> None:
    ran = remit("packs", "try", "good", folder=tmp_path)
    assert "good.wipe (write, destroy)" in ran.out
    assert "Add two numbers." in ran.out
    offered = remit("packs", "try", "good", "--json", folder=tmp_path).json
    assert {"skill", "wire", "effect", "impact", "description", "schema"} == set(offered[0])


@pytest.mark.parametrize("name", ["greet", "good.greet", "good__greet"])
def test_a_call_under_any_of_its_names(good: Path, tmp_path: Path, name: str) -> None:
    ran = remit("packs", "try", "good", name, '{"name": "Ada"}', "--set", "greeting=Moin", folder=tmp_path)
    assert ran.out.startswith("Moin, Ada\n(ok, ")
    assert not (tmp_path / "remit.toml").exists()


def test_a_failure_shows_the_authors_own_lines(good: Path, tmp_path: Path) -> None:
    ran = remit("packs", "try", "good", "breaks", "{}", folder=tmp_path, expect=1)
    assert "remit_test_good/skills.py:170 in breaks: raise ValueError(message)" in ran.err
    assert "failed: good.breaks failed: ValueError: it broke" in ran.err
    told = remit("packs", "try", "good", "breaks", "{}", "--json", folder=tmp_path, expect=1).json
    assert told["status"] == "failed" and "skills.py:170" in told["traceback"]


def test_what_it_prints_is_shown(good: Path, tmp_path: Path) -> None:
    code = good / "remit_test_good/skills.py"
    code.write_text(code.read_text().replace("    return a + b\n", "    print('adding', a)\n    return a + b\n"))
    ran = remit("packs", "try", "good", "add", '{"a": 1}', folder=tmp_path)
    assert "  | adding 1.0" in ran.err and ran.out.startswith("1.0\n")
    told = remit("packs", "try", "good", "add", '{"a": 1}', "--json", folder=tmp_path).json
    assert told["output"] == "adding 1.0\n" and told["result"] == 1.0


def test_an_import_that_fails_shows_the_authors_own_lines(tmp_path: Path) -> None:
    folder = str(project("raises_at_import"))
    ran = remit("packs", "try", folder, folder=tmp_path, expect=1)
    assert 'remit_test_raises/__init__.py:3 in <module>: raise RuntimeError("this pack cannot be imported")' in ran.err
    assert "error: pack raises cannot be imported: RuntimeError" in ran.err
    assert "packs try DIR" not in ran.err
    told = remit("packs", "try", folder, "never", "--json", folder=tmp_path, expect=1).json
    assert "__init__.py:3" in told["traceback"]


def test_a_syntax_error_names_its_line(good: Path, tmp_path: Path) -> None:
    (good / "remit_test_good/skills.py").write_text("def broken(:\n    pass\n")
    ran = remit("packs", "try", "good", folder=tmp_path, expect=1)
    assert "SyntaxError" in ran.err and "skills.py" in ran.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('effect = "raed"', ["skill[0].effect", "'read', 'write' or 'external'"]),
        ("effct = 1", ["effct", "effect"]),
        ("= nonsense", ["pack.toml"]),
    ],
)
def test_a_wrong_manifest_names_file_and_key(good: Path, tmp_path: Path, change: str, says: list[str]) -> None:
    manifest = good / "remit_test_good/pack.toml"
    manifest.write_text(manifest.read_text().replace('effect = "read"', change, 1))
    ran = remit("packs", "try", "good", folder=tmp_path, expect=1)
    assert "pack.toml" in ran.err and all(text in ran.err for text in says), ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere"], 1, "there is no folder nowhere"),
        (["."], 1, "holds no package with a pack.toml beside its __init__.py"),
        (["good", "ad", "{}"], 2, "the pack has no skill 'ad'; it has: add, greet"),
        (["good", "add", "{"], 2, "not valid JSON"),
        (["good", "add", "{}", "--set", "x"], 2, "'x' is no NAME=VALUE"),
        (["good", "add", "{}", "--set", "colour=red"], 1, "colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_named(good: Path, tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    ran = remit("packs", "try", *arguments, folder=tmp_path, expect=code)
    assert says in ran.err
    assert "Traceback (most recent call last)" not in ran.err


def test_watch_tries_again_after_a_change_until_ctrl_c(good: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "remit", "packs", "try", "good", "greet", '{"name": "Ada"}', "--watch"],
            cwd=tmp_path,
            env=os.environ,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        wait_until(lambda: "Hello, Ada" in log.read_text(), "the first try")
        code = good / "remit_test_good/skills.py"
        code.write_text(code.read_text() + "\ndef broken(:\n")
        wait_until(lambda: "SyntaxError" in log.read_text(), "the broken one")
        code.write_text(code.read_text().replace("\ndef broken(:\n", "").replace(", {name}", ", dear {name}"))
        wait_until(lambda: "Hello, dear Ada" in log.read_text(), "the mended one")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=20) == 130
    finally:
        process.kill()
        process.wait()
    assert "Traceback (most recent call last)" not in log.read_text()
