"""pip runs where no build can start: every way to start a program is refused, except that to ask for a password."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remit.installing import wheels_only
from remit.installing.wheels_only import refuse_programs

WAYS = {
    "subprocess": "import subprocess; subprocess.run(['true'])",
    "a shell": "import os; os.system('true')",
    "popen": "import os; os.popen('true').read()",
    "fork": "import os; os.fork() or os._exit(0)",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "spawn": "import os; os.posix_spawn('/bin/true', ['true'], {})",
    "asyncio": "import asyncio; asyncio.run(asyncio.create_subprocess_exec('true'))",
    "multiprocessing": "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
}


@pytest.mark.parametrize("way", WAYS)
def test_no_program_starts(way: str) -> None:
    hook = "import sys; from remit.installing.wheels_only import refuse_programs; sys.addaudithook(refuse_programs)"
    said = {
        start: subprocess.run(
            [sys.executable, "-c", f"{start}\n{WAYS[way]}"], capture_output=True, text=True, timeout=60
        ).stderr
        for start in (hook, "")
    }
    assert "PermissionError: a source distribution would have to be built" in said[hook]
    assert "PermissionError" not in said[""]  # the control: without the hook it starts


def test_passwords_can_be_asked_for_and_imports_go_on() -> None:
    refuse_programs("subprocess.Popen", ("keyring", ["/usr/bin/keyring", "get", "host", "user"], None, None))
    refuse_programs("import", ("json",))
    for command in (["python", "setup.py"], "keyring", b"sh", [], None):
        with pytest.raises(PermissionError):
            refuse_programs("subprocess.Popen", (None, command, None, None))


def test_it_imports_nothing_of_remit() -> None:
    text = Path(wheels_only.__file__).read_text("utf-8")
    assert "remit." not in text.partition('"""')[2].partition('"""')[2]
