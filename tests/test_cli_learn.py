"""`remit learn`: watches a skill, proposes the smallest table, and proves it by running with just that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.cli.main import run
from tests import web_servers
from tests.in_process import remit

pytestmark = pytest.mark.confinement

MANIFEST = """\
manifest = 1
[pack]
name = "curious"
summary = "Wants many things"
[[skill]]
name = "work"
handler = "remit_curious:work"
after = "remit_curious:after"
effect = "external"
[[skill]]
name = "relative"
handler = "remit_curious:relative"
effect = "read"
[[skill]]
name = "nothing"
handler = "remit_curious:nothing"
effect = "read"
[[skill]]
name = "breaks"
handler = "remit_curious:breaks"
effect = "read"
[[skill]]
name = "needs_name"
handler = "remit_curious:needs_name"
effect = "read"
[[skill]]
name = "outside"
handler = "remit_curious:outside"
effect = "write"
[[skill]]
name = "shows"
handler = "remit_curious:shows"
effect = "external"
"""
HANDLERS = '''
import os
import subprocess
import urllib.request


def work(ctx, port: int) -> str:
    """Do many things."""
    text = (ctx.workspace / "notes.txt").read_text()
    (ctx.workspace / "out").mkdir(exist_ok=True)
    (ctx.workspace / "out" / "copy.txt").write_text(text)
    (ctx.tmp / "mine").write_text("x")
    page = urllib.request.urlopen(f"http://localhost:{port}/", timeout=10).read().decode()
    name = subprocess.run(["uname"], capture_output=True, text=True, check=True).stdout
    return f"{text}{page}{name}"


def after(call, result, ctx):
    (ctx.data / "seen").write_text(call.skill)
    return result


def relative() -> str:
    """Read a file of the working directory."""
    return open("notes.txt").read()


def nothing(number: int = 1) -> int:
    """Need nothing."""
    return number


def breaks() -> str:
    """Fail."""
    raise ValueError("always")


def needs_name() -> str:
    """Need a variable."""
    return os.environ["CURIOUS_NAME"]


def outside(path: str) -> str:
    """Write where it says."""
    with open(path, "w") as file:
        file.write("x")
    return "written"


def shows() -> str:
    """Have a program read what Python does not see."""
    return subprocess.run(["cat", os.getcwd() + "/notes.txt"], capture_output=True, text=True, check=True).stdout
'''


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    package = tmp_path / "curious" / "remit_curious"
    package.mkdir(parents=True)
    (package / "pack.toml").write_text(MANIFEST)
    (package / "__init__.py").write_text(HANDLERS)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("notes\n")
    return package.parent


@pytest.fixture
def web() -> Iterator[int]:
    with web_servers.serving(web_servers.plain()) as port:
        yield port


class Ran(dict[str, Any]):
    code = 0


@pytest.fixture
def learn(pack: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def learned(skill: str, arguments: str = "{}", *more: str) -> Ran:
        work = str(pack.parent / "work")
        line = ["learn", skill, arguments, "--pack", str(pack), "--workspace", work, "--json", "--yes", *more]
        code = run(line)
        found = Ran(json.loads(capsys.readouterr().out))
        found.code = code
        return found

    return learned


def test_everything_that_it_needs_and_nothing_else(learn: Any, web: int, pack: Path) -> None:
    found = learn("curious.work", json.dumps({"port": web}), "--private-net")
    assert found["permissions"] == {
        "fs.read": ["${workspace}/notes.txt"],
        "fs.write": ["${data}/**", "${workspace}/out/**"],
        "net": [f"localhost:{web}"],
        "exec": ["uname"],
    }
    assert (found.code, found["passed"], found["runs"], found["written"]) == (0, True, 2, None)
    assert (pack / "remit_curious" / "pack.toml").read_text() == MANIFEST


def test_a_skill_that_needs_nothing_gets_nothing(learn: Any) -> None:
    found = learn("nothing")
    assert (found["permissions"], found["passed"]) == ({}, True)


def test_relative_paths_and_what_programs_read_take_the_workspace(learn: Any) -> None:
    assert learn("relative")["permissions"] == {"fs.read": ["${workspace}/**"]}
    found = learn("shows")
    assert found["permissions"] == {"fs.read": ["${workspace}/**"], "exec": ["cat"]}
    assert found["passed"] and found["runs"] == 3
    assert any("programs themselves" in note for note in found["notes"])


def test_a_variable_that_it_asks_for_is_found(learn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURIOUS_NAME", "Ada")
    found = learn("needs_name")
    assert found["permissions"] == {"env": ["CURIOUS_NAME"]} and found["passed"]
    monkeypatch.delenv("CURIOUS_NAME")
    found = learn("needs_name")
    assert found.code == 1 and "CURIOUS_NAME" in " ".join(found["notes"])


def test_a_host_that_a_setting_names_is_written_as_the_setting() -> None:
    from remit.deployment.needs import Needs, by_settings

    found = by_settings(Needs(table={"net": ("127.0.0.1:80", "a.example:443")}), {"endpoint": "127.0.0.1:80", "n": 1})
    assert found.table["net"] == ("${setting.endpoint}", "a.example:443")


def test_one_that_fails_by_itself_proves_nothing(learn: Any) -> None:
    found = learn("breaks")
    assert found.code == 1 and not found["passed"] and "always" in found["observed"]["error"]


def test_while_it_is_watched_it_writes_only_where_it_was_said(learn: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path.resolve() / "elsewhere"
    elsewhere.mkdir()
    arguments = json.dumps({"path": f"{elsewhere}/made"})
    assert learn("outside", arguments).code == 1
    assert list(elsewhere.iterdir()) == []
    found = learn("outside", arguments, "--also-write", str(elsewhere))
    assert found["permissions"] == {"fs.write": [f"{elsewhere}/**"]} and found["passed"]


def test_only_write_writes_and_then_the_manifest_is_enough(learn: Any, pack: Path, capsys: Any) -> None:
    found = learn("relative", "{}", "--write")
    assert found["written"].endswith("pack.toml")
    work = str(pack.parent / "work")
    assert run(["packs", "try", str(pack), "relative", "{}", "--workspace", work]) == 0
    assert "notes" in capsys.readouterr().out


def test_nobody_agrees_and_nothing_runs(pack: Path) -> None:
    work = str(pack.parent / "work")
    line = ("learn", "outside", json.dumps({"path": f"{work}/made"}), "--pack", str(pack), "--workspace", work)
    ran = remit(*line, folder=pack.parent, expect=1)
    assert "far more rights" in ran.err and "nothing was run" in ran.err
    assert not (pack.parent / "work" / "made").exists()


def test_wrong_usage_says_what_to_write(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["learn", "curious.relative", "{}", "--write"]) == 2
    assert "--pack" in capsys.readouterr().err
    assert run(["learn", "nonsense", "{}", "--pack", str(pack), "--yes"]) == 2
    assert "curious.work" in capsys.readouterr().err
    assert run(["learn", "nothing", '{"number": "x"}', "--pack", str(pack), "--yes"]) == 2
    assert "number" in capsys.readouterr().err


def test_arguments_that_do_not_fit_are_said_before_anybody_is_asked(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, why in (("{bad", "JSON"), ("[]", "object"), ('{"number": "x"}', "number")):
        assert run(["learn", "nothing", arguments, "--pack", str(pack)]) == 2
        said = capsys.readouterr()
        assert why in said.err and "far more rights" not in said.err and not said.out, said
