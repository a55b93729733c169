"""The supervisor inside somebody else's program: what ends with what, and what stays untouched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import alive, eventually, make_pack, run, spec_of, value

ROOT = Path(__file__).parents[1]


def command(pack: Path, code: str) -> list[str]:
    """A program of its own that has a spec for the pack."""
    program = f"""
import os, pathlib, signal, subprocess, sys, time
sys.path.insert(0, {str(ROOT)!r})
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import alive, body, call, run, spec_of, value
spec = spec_of(pathlib.Path({str(pack)!r}))
"""
    return [sys.executable, "-c", program + textwrap.dedent(code)]


def start(pack: Path, code: str) -> subprocess.Popen[str]:
    """Start such a program."""
    return subprocess.Popen(command(pack, code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(pack: Path, code: str) -> str:
    """What such a program prints, once it ended well."""
    with start(pack, code) as program:
        stdout, stderr = program.communicate(timeout=60)
    assert program.returncode == 0, stderr
    return stdout


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return make_pack(tmp_path / "packs")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_survives_the_host(pack: Path, how: signal.Signals) -> None:
    code = """
    cell = Sandbox().cell(spec)
    print(cell.pid, value(run(cell, "import os; out = os.getppid()")), cell.tmp, flush=True)
    call(cell, "sleep", seconds=600, timeout=600)
    """
    with start(pack, code) as program:
        assert program.stdout
        cell, supervisor, tmp = program.stdout.readline().split()
        assert alive(int(cell))
        program.send_signal(how)
        program.communicate(timeout=30)
    assert eventually(lambda: not alive(int(cell)) and not alive(int(supervisor)))
    assert eventually(lambda: not Path(tmp).parent.exists())


def test_nothing_survives_the_host_though_its_child_holds_the_socket(pack: Path) -> None:
    code = """
    cell = Sandbox().cell(spec)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    print(cell.pid, child, flush=True)
    time.sleep(600)
    """
    with start(pack, code) as program:
        assert program.stdout
        cell, child = (int(word) for word in program.stdout.readline().split())
        program.kill()
        assert eventually(lambda: not alive(cell))
        assert alive(child)
        os.kill(child, signal.SIGKILL)
        program.communicate(timeout=30)


def test_a_program_that_ends_in_order_leaves_nothing(pack: Path) -> None:
    cell, tmp = outcome(pack, "cell = Sandbox().cell(spec)\nprint(cell.pid, cell.tmp)\n").split()
    assert not alive(int(cell))
    assert not Path(tmp).parent.exists()


def test_the_host_stays_untouched(pack: Path) -> None:
    code = """
    import threading
    heard = []
    signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    os.umask(0o027)
    os.environ["BLUE_FISH"] = "hunter2"
    own = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    raw = os.fork()
    if raw == 0:
        os._exit(9)
    def look():
        handlers = [signal.getsignal(number) for number in signal.valid_signals()]
        mask = os.umask(0o027)
        return handlers, signal.pthread_sigmask(signal.SIG_BLOCK, ()), mask, dict(os.environ), os.getcwd()
    before = look()
    with Sandbox() as sandbox:
        with sandbox.borrow(spec, "s") as cell:
            state = value(run(cell, (
                "import os, signal\\n"
                "numbers = (signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD)\\n"
                "mask = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))\\n"
                "out = [str(signal.getsignal(n)) for n in numbers], mask, os.environ.get('BLUE_FISH')\\n"
            )))
            assert value(call(cell, "echo", text="x")) == "x"
        reply = sandbox.cell(spec).request("call", body("spin"), timeout=0.1)
        assert reply.kind == "timeout"
        assert threading.active_count() == 1
    after = look()
    assert before == after, (before, after)
    assert own.wait() == 7
    assert os.waitstatus_to_exitcode(os.waitpid(raw, 0)[1]) == 9
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child left", state)
    """
    told = outcome(pack, code)
    assert told == "no child left (['0', '0', '0'], [], None)\n"


def test_a_host_that_ignores_the_end_of_children_works(pack: Path) -> None:
    code = """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with Sandbox() as sandbox, sandbox.borrow(spec, "s") as cell:
        print(value(call(cell, "echo", text="x")))
    """
    assert outcome(pack, code) == "x\n"


def test_a_host_that_forked_starts_its_own(pack: Path) -> None:
    code = """
    sandbox = Sandbox()
    def use(text):
        with sandbox.borrow(spec, "s") as cell:
            return cell.pid, value(call(cell, "echo", text=text))
    first = use("parent")
    child = os.fork()
    if child == 0:
        ok = use("child")[1] == "child" and use("child")[0] != first[0]
        sandbox.close()
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert use("parent") == (first[0], "parent")
    sandbox.close()
    print("fine")
    """
    assert outcome(pack, code) == "fine\n"


def test_a_fork_in_mid_call_disturbs_nothing(pack: Path) -> None:
    code = """
    import threading
    sandbox, told = Sandbox(), []
    cell = sandbox.cell(spec)
    thread = threading.Thread(target=lambda: told.append(value(call(cell, "sleep", seconds=1))))
    thread.start()
    while not cell._busy:
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        cell.kill()
        sandbox.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    print(told, value(call(cell, "echo", text="x")))
    sandbox.close()
    """
    assert outcome(pack, code) == "['awake'] x\n"


def test_a_host_whose_starting_thread_ended_keeps_its_cells(pack: Path) -> None:
    code = """
    import threading
    sandbox, cells = Sandbox(), []
    thread = threading.Thread(target=lambda: cells.append(sandbox.cell(spec)))
    thread.start()
    thread.join()
    time.sleep(0.2)
    print(value(call(cells[0], "echo", text="x")))
    sandbox.close()
    """
    assert outcome(pack, code) == "x\n"


@pytest.mark.skipif(not Path("/usr/bin/unshare").exists(), reason="needs unshare")
def test_a_host_that_is_process_1_works(pack: Path) -> None:
    code = """
    assert os.getpid() == 1
    with Sandbox() as sandbox, sandbox.borrow(spec, "s") as cell:
        print(value(call(cell, "echo", text="x")))
        reply = sandbox.cell(spec).request("call", body("spin"), timeout=0.1)
        print(reply.kind)
    """
    done = subprocess.run(
        ["/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", *command(pack, code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"this machine makes no PID namespaces: {done.stderr.strip()}")
    assert done.stdout == "x\ntimeout\n", done.stderr


def test_ctrl_c_in_mid_call_leaves_no_orphan(pack: Path) -> None:
    code = """
    sandbox = Sandbox()
    cell = sandbox.cell(spec)
    print(cell.pid, cell.tmp, flush=True)
    try:
        run(cell, "import time; open('started', 'w'); time.sleep(600)")
    except KeyboardInterrupt:
        print("interrupted", cell.broken, alive(cell.pid))
    with sandbox.borrow(spec, "s") as cell:
        print(value(call(cell, "echo", text="x")))
    """
    with start(pack, code) as program:
        assert program.stdout
        pid, tmp = program.stdout.readline().split()
        assert eventually(lambda: Path(tmp, "started").exists())
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate(timeout=60)
    assert stdout == "interrupted True False\nx\n", stderr
    assert not alive(int(pid))


def test_the_cell_gets_nothing_of_the_host(pack: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BLUE_FISH", "hunter2")
    secret = (tmp_path / "secret").open("w+", encoding="utf-8")
    os.set_inheritable(secret.fileno(), True)
    code = """
import os
links = []
for number in os.listdir("/proc/self/fd"):
    if os.path.lexists(f"/proc/self/fd/{number}"):
        links.append(os.readlink(f"/proc/self/fd/{number}"))
out = dict(os.environ), open("/proc/self/environ").read(), links
"""
    with secret, Sandbox() as sandbox, sandbox.borrow(spec_of(pack), "s") as cell:
        told = value(run(cell, code))
    assert "hunter2" not in told
    assert "secret" not in told


def test_the_cells_folder_is_private_and_home(pack: Path) -> None:
    with Sandbox() as sandbox, sandbox.borrow(spec_of(pack), "s") as cell:
        code = """
import os, stat, tempfile, pathlib
here = os.getcwd()
out = all(os.environ[name] == here for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "SQLITE_TMPDIR"))
out = out and tempfile.gettempdir() == here == str(pathlib.Path.home())
out = out and stat.S_IMODE(os.stat(here).st_mode) == 0o700
"""
        assert value(run(cell, code)) == "True"
        with sandbox.borrow(spec_of(pack), "other") as other:
            assert other.tmp != cell.tmp


def test_the_cells_folder_is_removed_whatever_was_made_in_it(pack: Path) -> None:
    code = "import os; os.makedirs('deep/er'); os.chmod('deep', 0); open('file', 'w').write('x')"
    with Sandbox() as sandbox:
        cell = sandbox.cell(spec_of(pack))
        assert value(run(cell, code)) == "None"
        assert Path(cell.tmp, "file").exists()
        cell.close()
        assert not Path(cell.tmp).exists()
