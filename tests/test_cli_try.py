"""`remit packs try`: a pack in development, without a deployment."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_process import remit
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
        ('effect = "raed"', ["skill add: effect", "has to be 'read', 'write' or 'external'; did you mean 'read'?"]),
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
        (["good", "add", "{}", "--set", "colour=red"], 2, "colour"),
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


MADE = """\
manifest = 1
[pack]
name = "made"
[permissions]
secrets = ["token"]
net = ["127.0.0.1:{port}"]
fs.read = ["${workspace}/**"]
[[skill]]
name = "tell"
handler = "made_pack:tell"
uses = ["secrets"]
[[skill]]
name = "look"
handler = "made_pack:look"
effect = "read"
uses = ["fs.read"]
[[skill]]
name = "dial"
handler = "made_pack:dial"
uses = ["net"]
[[skill]]
name = "lost"
handler = "made_pack:nowhere"
"""
CODE = """\
import socket

def tell(what, ctx):
    return what

def look(ctx) -> list[str]:
    '''Look around.'''
    return sorted(path.name for path in ctx.workspace.iterdir())

def dial(port: int) -> str:
    '''Dial.'''
    socket.create_connection(("127.0.0.1", port), 5).close()
    return "there"
"""


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def made(tmp_path: Path, listening: int) -> Path:
    package = tmp_path / "made" / "made_pack"
    package.mkdir(parents=True)
    (package / "pack.toml").write_text(MADE.replace("{port}", str(listening)))
    (package / "__init__.py").write_text(CODE)
    return package.parent


def test_a_workspace_can_be_named_and_which_one_is_said(made: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("a")
    ran = remit("packs", "try", "made", "look", folder=tmp_path)
    assert ran.out.startswith("[]\n") and "empty temporary folder; --workspace DIR" in ran.err
    ran = remit("packs", "try", "made", "look", "--workspace", "mine", folder=tmp_path)
    assert ran.out.startswith('["a.txt"]\n') and f"the workspace is {tmp_path / 'mine'}" in ran.err
    assert (tmp_path / "mine" / "a.txt").exists()
    ran = remit("packs", "try", "made", "look", "--workspace", "none", folder=tmp_path, expect=1)
    assert "there is no folder none to be the workspace" in ran.err


@pytest.mark.confinement
def test_a_private_address_of_the_manifest_is_reached_on_request(made: Path, listening: int, tmp_path: Path) -> None:
    call = ("packs", "try", "made", "dial", f'{{"port": {listening}}}')
    assert "it is no public address" in remit(*call, folder=tmp_path, expect=1).err
    assert remit(*call, "--private-net", folder=tmp_path).out.startswith("there\n")


def test_a_skill_that_is_left_out_says_why(made: Path, tmp_path: Path) -> None:
    ran = remit("packs", "try", "made", "tell", "{}", folder=tmp_path, expect=1)
    assert "error: skill tell is left out: its secret token: the environment variable TOKEN is not set" in ran.err
    ran = remit("packs", "try", "made", "lost", "{}", folder=tmp_path, expect=1)
    assert "error: skill lost is left out: it is refused" in ran.err and "its author" not in ran.err
    bound = remit("packs", "try", "made", "tell", '{"what": 1}', folder=tmp_path, environment={"TOKEN": "x"})
    assert bound.out.startswith("1\n")


def test_what_a_model_will_miss_is_said(made: Path, tmp_path: Path) -> None:
    err = remit("packs", "try", "made", folder=tmp_path, environment={"TOKEN": "x"}).err
    assert "skill tell: its handler has no docstring" in err and "skill tell: no type hint for what" in err
    assert "skill look: its handler" not in err


def test_the_folder_above_names_the_packs_below(made: Path, tmp_path: Path) -> None:
    ran = remit("packs", "try", ".", folder=tmp_path, expect=1)
    assert "did you mean made below it?" in ran.err
