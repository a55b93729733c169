"""The cell alone: the same hostile programs as plain Python, without the policy, in confined cells.

Ground truth is the host's own: a secret in a file, a file that must not appear, a port that must not be reached, a
process that must live. Every attack works in the control, which is plain Python outside a cell.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit_sandbox.python import run_python
from remit_sandbox.sandbox import Sandbox
from tests.python_parts import HOSTILE, LONG, ids, plain_python

pytestmark = pytest.mark.confinement


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def aimed(code: str, folder: Path) -> str:
    return code.replace("PWNED_FILE", str(folder / "pwned")).replace("secret.txt", str(folder / "kept.txt"))


@pytest.fixture
def kept(tmp_path: Path) -> str:
    secret = secrets.token_hex(8)
    (tmp_path / "kept.txt").write_text(secret)
    return secret


@pytest.mark.parametrize("case", HOSTILE, ids=ids(HOSTILE))
def test_shared_case_without_the_policy(case: dict[str, Any], tmp_path: Path, kept: str, sandbox: Sandbox) -> None:
    timeout = 1.0 if case["kind"] in LONG else 10.0
    result = run_python(aimed(case["code"], tmp_path), timeout=timeout, sandbox=sandbox, profile="open")
    assert kept not in f"{result!r}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.txt"]
    assert (tmp_path / "kept.txt").read_text() == kept
    assert run_python("1 + 1", session="after", sandbox=sandbox, profile="open").value == 2


FILES = {
    "read": "print(open({file!r}).read())",
    "read raw": "import os\nprint(os.read(os.open({file!r}, os.O_RDONLY), 99))",
    "read ctypes": "import ctypes\nc = ctypes.CDLL(None)\nb = ctypes.create_string_buffer(99)\n"
    "c.read(c.open({file!r}.encode(), 0), b, 99)\nprint(b.value)",
    "read by a program": "import subprocess\nprint(subprocess.run(['cat', {file!r}], capture_output=True).stdout)",
    "read by a link": "import os\nos.symlink({file!r}, 'l')\nprint(open('l').read())\nos.remove('l')",
    "write": "open({pwned!r}, 'w').write('x')",
    "overwrite": "open({file!r}, 'w').write('x')",
    "append": "open({file!r}, 'a').write('x')",
    "truncate": "import os\nos.truncate({file!r}, 0)",
    "remove": "import os\nos.remove({file!r})",
    "rename away": "import os\nos.rename({file!r}, {file!r} + '2')",
    "make a folder": "import os\nos.mkdir({pwned!r})",
    "link in": "import os\nos.link({file!r}, {pwned!r})",
    "shell": "import os\nos.system('touch ' + {pwned!r})",
    "copy": "import shutil\nshutil.copy({file!r}, {pwned!r})",
    "sqlite": "import sqlite3\nsqlite3.connect({pwned!r}).execute('create table t (x)')",
    "pickle": "import pickle, os\nclass P:\n    def __reduce__(self): return os.system, ('touch ' + {pwned!r},)\n"
    "pickle.loads(pickle.dumps(P()))",
    "at exit": "import atexit\natexit.register(lambda: open({pwned!r}, 'w').write('x'))",
    "thread": "import threading\nt = threading.Thread(target=lambda: open({pwned!r}, 'w').write('x'))\n"
    "t.start()\nt.join()",
}


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


@pytest.mark.parametrize("name", FILES)
def test_files_of_the_host_are_out_of_reach(name: str, tmp_path: Path, kept: str, sandbox: Sandbox) -> None:
    code = FILES[name].format(file=str(tmp_path / "kept.txt"), pwned=str(tmp_path / "pwned"))
    before = state(tmp_path)
    result = run_python(code, sandbox=sandbox, profile="open")
    assert state(tmp_path) == before
    assert kept not in f"{result!r}"
    work = tmp_path / "work"
    work.mkdir()
    control = plain_python(code, folder=work)
    after = state(tmp_path)
    after.pop("work")
    assert after != before or kept in control.stdout, control.stderr


def test_no_port_is_reached(sandbox: Sandbox) -> None:
    code = "import socket\ns = socket.create_connection(('127.0.0.1', {port}), timeout=2)\ns.sendall(b'out')\ns.close()"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        source = code.format(port=server.getsockname()[1])
        assert run_python(source, sandbox=sandbox, profile="open").error
        with pytest.raises(TimeoutError):
            server.accept()
        assert plain_python(source).returncode == 0
        connection, _ = server.accept()
        connection.close()


def test_no_process_is_ended(sandbox: Sandbox) -> None:
    code = "import os, signal\nos.kill({pid}, signal.SIGKILL)"
    for where in ("cell", "control"):
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as victim:
            source = code.format(pid=victim.pid)
            if where == "cell":
                assert run_python(source, sandbox=sandbox, profile="open").error
                assert victim.poll() is None
                victim.kill()
            else:
                assert plain_python(source).returncode == 0
                assert victim.wait(10) == -9


def test_the_environment_and_memory_of_the_host_stay_its_own(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = secrets.token_hex(8)
    monkeypatch.setenv("REMIT_TEST_CANARY", secret)
    code = "import os\nprint(os.environ.get('REMIT_TEST_CANARY'))"
    assert secret not in run_python(code, sandbox=sandbox, profile="open").stdout
    control = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert secret in control.stdout
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        peek = f"print(open('/proc/{child.pid}/environ').read())"
        assert secret not in f"{run_python(peek, sandbox=sandbox, profile='open')!r}"
        assert secret in plain_python(peek).stdout
        child.kill()
    host = f"print(open('/proc/{os.getpid()}/environ').read())"
    assert secret not in f"{run_python(host, sandbox=sandbox, profile='open')!r}"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os\nwhile True: os.fork()", "Error"),
        ("import ctypes\nctypes.string_at(0)", "interpreter"),
        ("import os\nos._exit(3)", "interpreter"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "interpreter"),
        ("import os\nos.write(3, b'rubbish' * 100)", "protocol"),
        ("import os\nfor n in range(3, 300):\n    try: os.close(n)\n    except OSError: pass", "interpreter"),
        ("x = bytearray(10 ** 10)", "MemoryError"),
        ("open('big', 'wb').write(b'x' * 200_000_000)", "rror"),
        ("import signal\nfor n in (15, 2, 24): signal.signal(n, signal.SIG_IGN)\nwhile True: pass", "TimeoutError"),
    ],
)  # fmt: skip
def test_a_cell_that_is_broken_is_an_ordinary_result(code: str, says: str, sandbox: Sandbox) -> None:
    result = run_python(code, sandbox=sandbox, profile="open", timeout=3)
    assert says in result.error, result
    assert run_python("1 + 1", session="after", sandbox=sandbox, profile="open").value == 2


def test_sessions_do_not_see_each_other(sandbox: Sandbox) -> None:
    assert (
        run_python("x = 5\nopen('kept', 'w').write('mine')", session="a", sandbox=sandbox, profile="open").error == ""
    )
    assert run_python("x, open('kept').read()", session="a", sandbox=sandbox, profile="open").value == (5, "mine")
    assert "NameError" in run_python("x", session="b", sandbox=sandbox, profile="open").error
    look = "import glob\n[open(p).read() for p in glob.glob('/tmp/**/kept', recursive=True)]"
    assert run_python(look, session="b", sandbox=sandbox, profile="open").value == []
    assert "NameError" in run_python("x", session="a", sandbox=sandbox).error, "the profiles share no cell"
