"""docs/packs.md, tried as a new user would: from an empty folder to a pack that another environment calls."""

from __future__ import annotations

import os
import re
import shlex
import site
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "packs.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every line of the page's `sh` blocks, in order."""
    blocks = [body for language, body in FENCE.findall(PAGE.read_text(encoding="utf-8")) if language == "sh"]
    return [line for block in blocks for line in block.splitlines()]


def run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Run one line of the page as it is written, but for where `python` and packages come from."""
    words = shlex.split(line)
    if words[0] == "mkdir":
        (folder / words[1]).mkdir()
        return ""
    words = [sys.executable, "-m", "remit", *words[1:]] if words[0] == "remit" else words
    words = [sys.executable, *words[1:]] if words[0] == "python" else words
    if words[0] == "../second/bin/remit":
        words = ["../second/bin/python", "-m", "remit", *words[1:]]
        words += ["--enforcement", "available"] if "init" in words else []
    if words[1:4] == ["-m", "pip", "wheel"]:
        words.insert(4, "--no-build-isolation")
    if words[1:3] == ["-m", "venv"]:
        words.insert(3, "--without-pip")
    if words[0] == "../second/bin/python" and "pip" in words:
        offline = ["install", "--no-deps", "--no-index", words[-1]]
        words = [sys.executable, "-m", "pip", "--python", "../second/bin/python", *offline]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


def as_if_installed(second: Path) -> None:
    """Let the second environment have Remit and what it needs, as if pip had installed them from an index."""
    (folder,) = second.glob("lib/python*/site-packages")
    lines = [f"import site; site.addsitedir({path!r})" for path in site.getsitepackages()]
    (folder / "first.pth").write_text("\n".join(lines) + "\n")


def test_from_an_empty_folder_to_a_call_in_another_environment(tmp_path: Path) -> None:
    folder, told = tmp_path, ""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    for line in commands():
        if line.startswith("cd "):
            folder = (folder / line.removeprefix("cd ")).resolve()
        else:
            told = run(line, folder, environment)
        if "venv" in line:
            as_if_installed(tmp_path / "second")
    assert '{"word": "to", "times": 2}' in told
    assert folder == tmp_path / "deployment" and (tmp_path / "remit-tide" / "dist").is_dir()


@pytest.mark.filterwarnings("default")
def test_the_example_of_a_test_runs(tmp_path: Path) -> None:
    programs = [body for language, body in FENCE.findall(PAGE.read_text(encoding="utf-8")) if language == "python"]
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stderr
