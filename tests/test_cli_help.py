"""Every command explains itself, with an example, on any terminal; and what must be quick imports little."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from remit.cli import screen
from remit.cli.main import COMMANDS
from tests.command import remit
from tests.in_process import remit as in_process

ACTIONS = [
    *([command] for command in COMMANDS),
    *(["packs", action] for action in ("list", "info", "enable", "disable", "try")),
    *(["log", action] for action in ("list", "show")),
    *(["extensions", action] for action in ("list", "enable", "disable")),
]
PLAIN = {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
HEAVY = {"pydantic", "importlib.metadata", "asyncio", "sqlite3", "httpx2", "jsonschema_rs", "tomlkit", "pluggy"}


@pytest.mark.parametrize("command", ACTIONS, ids=" ".join)
def test_help_has_an_example_and_is_plain(command: list[str], tmp_path: Path) -> None:
    ran = remit(*command, "--help", folder=tmp_path, environment=PLAIN)
    assert ran.out.isascii() and ran.err == ""
    _, _, examples = ran.out.partition("example")
    assert f"  remit {' '.join(command)}" in examples, ran.out
    assert len(max(ran.out.splitlines(), key=len)) <= 120


def test_help_names_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    ran = remit("--help", folder=tmp_path, environment=PLAIN)
    assert all(f"    {command} " in ran.out for command in COMMANDS)
    assert "exit codes: 0 done" in ran.out
    assert remit(folder=tmp_path).out == ran.out


def test_the_version_is_one_line(tmp_path: Path) -> None:
    from remit import __version__

    assert remit("--version", folder=tmp_path).out == f"remit {__version__}\n" == remit("-V", folder=tmp_path).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["packs"], "the following arguments are required: action"),
        (["packs", "nonsense"], "invalid choice: 'nonsense'"),
        (["log"], "the following arguments are required: action"),
        (["log", "list", "--limit", "x"], "invalid int value: 'x'"),
        (["call"], "the following arguments are required: skill"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["audit", "--nonsense"], "unrecognized arguments: --nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_named_with_the_help_to_read(arguments: list[str], says: str, tmp_path: Path) -> None:
    ran = remit(*arguments, folder=tmp_path, expect=2)
    assert says in ran.err
    assert "try: remit" in ran.err and "--help" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("arguments", [["--version"], ["packs", "list"], ["--help"]], ids=" ".join)
def test_what_must_be_quick_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    remit("packs", "list", folder=tmp_path)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "remit", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert done.returncode == 0 and "remit" in imported
    assert imported & HEAVY == set()


def test_the_control_of_the_above_imports_something_heavy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "remit", "packs", "info", "calc"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "| pydantic\n" in done.stderr.replace("|   ", "| ").replace("  pydantic", " pydantic")


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m remit --help | head -n 1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_the_environment_of_the_command_is_its_own(tmp_path: Path) -> None:
    """A file of the working directory is not imported in place of a module that Remit needs."""
    (tmp_path / "tomllib.py").write_text("raise SystemExit('imported from the working directory')")
    entry = Path(sys.executable).with_name("remit")
    done = subprocess.run([entry, "packs", "list"], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["apply", "audit", "eval", "serve", "call", "packs add", "signoff edit"])
def test_on_a_terminal_help_fits_and_commands_can_still_be_copied(command: str, tmp_path: Path) -> None:
    whole = in_process(*command.split(), "--help", folder=tmp_path).out
    with mock.patch.object(screen, "columns", lambda _: 80):
        shown = in_process(*command.split(), "--help", folder=tmp_path).out
    assert len(max(shown.splitlines(), key=len)) <= 80
    joined = re.sub(r" \\\n +", " ", shown)
    examples = [line for line in whole.splitlines() if line.startswith(f"  remit {command.split()[0]}")]
    assert examples and set(examples) <= {re.sub(r"(?<=\S) {2,}", " ", one) for one in joined.splitlines()} | set(
        joined.splitlines()
    )
