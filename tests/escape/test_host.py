"""Attacks on the host itself: frames, results, floods, time, memory of earlier calls, code that runs at import.

Each stands beside the same thing done decently, which must work.
"""

from __future__ import annotations

import json
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.errors import CellStartError
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Limits, Reply, Rights
from tests.sandbox_parts import (
    SOURCE,
    alive,
    body,
    call,
    eventually,
    limited,
    make_pack,
    plain_python,
    run,
    spec_of,
    value,
)

pytestmark = pytest.mark.confinement

FRAMES = '''
def frames(attack: str) -> str:
    """Answer past the channel, with whatever `attack` makes of the true id."""
    import gc, inspect, os
    import msgpack
    from remit_sandbox.inside.channel import Channel

    channel = next(one for one in gc.get_objects() if isinstance(one, Channel))
    frame = inspect.currentframe()
    while frame and "identity" not in frame.f_locals:
        frame = frame.f_back
    identity = frame.f_locals["identity"]

    def framed(data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + data

    def answer(**more) -> bytes:
        return framed(msgpack.packb({"op": "result", "id": identity, "text": b'"forged"', "follow_ups": []} | more))

    space = {"answer": answer, "framed": framed, "identity": identity, "msgpack": msgpack}
    data = memoryview(eval(attack, space))
    while data:
        data = data[os.write(channel._fd, data):]
    import time
    time.sleep(30)
    return ""

def returns(code: str):
    """Return whatever the code leaves in `out`."""
    space: dict = {}
    exec(code, space)
    return space["out"]
'''


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"), SOURCE + FRAMES)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def forged(sandbox: Sandbox, spec: CellSpec, attack: str) -> Reply:
    with sandbox.borrow(spec, "s") as cell:
        reply = cell.request("call", body("frames", attack=attack), timeout=30)
        assert cell.broken or reply.kind == "result"
        return reply


def test_the_control_a_frame_in_good_form_is_taken(sandbox: Sandbox, pack: Path) -> None:
    assert forged(sandbox, spec_of(pack, isolation="fresh"), "answer()").text == b'"forged"'


BAD_FRAMES = {
    "a length of 4 GB": "b'\\xff' * 4",
    "a length of 1 GB": "(10**9).to_bytes(4, 'big')",
    "no map": "framed(msgpack.packb([1, 2]))",
    "no msgpack": "framed(b'\\xc1' * 10)",
    "a frame of 40 MB": "framed(bytes(40_000_000))",
    "two frames": "answer() + answer()",
    "another id": "answer(id=identity + 1)",
    "a true id as text": "answer(id=str(identity))",
    "an id that is a boolean": "answer(id=True)",
    "an answer of another kind": "answer(op='open')",
    "text for bytes": "answer(text='x')",
    "a pickle in an extension": "answer(text=msgpack.ExtType(1, b'cos\\nsystem\\n.'))",
    "a time stamp": "answer(text=msgpack.Timestamp(1))",
    "numbers as keys": "framed(msgpack.packb({1: 2, 'id': identity, 'op': 'result'}))",
    "nesting without end": "framed(b'\\x81\\xa1x' + b'\\x91' * 30_000 + b'\\xc0')",
    "a million keys": "framed(msgpack.packb({str(n): 0 for n in range(1_000_000)}))",
    "millions of empty lists": "framed(b'\\x81\\xa1x\\xdd' + (5_000_000).to_bytes(4, 'big') + b'\\x90' * 5_000_000)",
    "an array of 4 billion": "framed(b'\\x81\\xa1x\\xdd\\xff\\xff\\xff\\xff')",
    "follow-ups without end": "answer(follow_ups=[['a.b', b'{}']] * 1000)",
    "bytes in a key": "framed(msgpack.packb({b'op': 'result', 'id': identity}))",
}


@pytest.mark.parametrize("attack", BAD_FRAMES.values(), ids=BAD_FRAMES)
def test_a_frame_in_bad_form_ends_the_cell_and_nothing_else(sandbox: Sandbox, pack: Path, attack: str) -> None:
    before = resident()
    reply = forged(sandbox, spec_of(pack, confined=True), attack)
    assert reply.kind == "died"
    assert "protocol" in reply.error
    assert resident() - before < 150_000_000
    with sandbox.borrow(spec_of(pack), "s") as cell:
        assert value(call(cell, "echo", text="the next one")) == "the next one"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_half_a_frame_is_late_and_no_more(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        reply = cell.request("call", body("frames", attack="answer()[:-3]"), timeout=0.5)
    assert reply.kind == "timeout"


def test_a_frame_before_the_request_ends_an_idle_cell(sandbox: Sandbox, pack: Path) -> None:
    code = """
import gc, os, threading, time
from remit_sandbox.inside.channel import Channel
channel = next(one for one in gc.get_objects() if isinstance(one, Channel))
def later():
    while not os.path.exists("go"):
        time.sleep(0.01)
    os.write(channel._fd, b"\\0\\0\\0\\x01\\x80")
threading.Thread(target=later).start()
"""
    with sandbox.borrow(spec_of(pack), "early") as cell:
        assert value(run(cell, code)) == "None"
        first = cell.pid
    Path(cell.tmp, "go").touch()
    assert eventually(lambda: not cell.usable)
    with sandbox.borrow(spec_of(pack), "early") as cell:
        assert cell.pid != first
        assert value(call(cell, "echo", text="x")) == "x"


class Trap:
    """Runs code in whoever unpickles it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def test_a_pickled_result_runs_nothing(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    target = tmp_path / "owned"
    bomb = pickle.dumps(Trap(str(target)))
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        for code in (
            f"out = {bomb!r}",
            "class Trap:\n    def __reduce__(self): return open, ('x', 'w')\nout = Trap()",
        ):
            call(cell, "returns", code=code)
    assert not target.exists()
    pickle.loads(bomb).close()
    assert target.exists()


RESULTS = {
    "not a number": "out = float('nan')",
    "infinity": "out = [float('inf')]",
    "deeper than any parser goes": "out = []\nfor _ in range(100_000): out = [out]",
    "itself": "out = []\nout.append(out)",
    "keys that become one": "out = {1: 'a', '1': 'b'}",
    "an object that lies about its class": "class A:\n    __class__ = str\nout = A()",
    "a number of a million digits": "out = 10**1_000_000",
    "longer than the limit": "out = 'x' * 3_000_000",
    "an iterator without end": "import itertools\nout = itertools.count()",
}


@pytest.mark.parametrize("code", RESULTS.values(), ids=RESULTS)
def test_a_result_that_is_no_json_is_a_failure(sandbox: Sandbox, pack: Path, code: str) -> None:
    rights = Rights(limits=Limits(result=1_000_000))
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        reply = cell.request("call", body("returns", code=code), timeout=20)
        assert reply.kind in ("failed", "died"), reply.text[:100]
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        assert json.loads(call(cell, "returns", code="out = {'a': [1, 2.5, None]}").text) == {"a": [1, 2.5, None]}


STUCK = {
    "ignoring signals": "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\nwhile True: pass",
    "in C with the GIL held": "import ctypes\nctypes.PyDLL(None).sleep(3600)",
    "catching everything": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "at its own end": "import atexit, sys\natexit.register(lambda: [0 for _ in iter(int, 1)])\nsys.exit()",
    "in many threads": "import threading\nfor _ in range(8): threading.Thread(target=lambda: [0 for _ in iter(int, 1)])"
    ".start()\nwhile True: pass",
    "in a regular expression": "import re\nre.match('(a+)+$', 'a' * 64 + 'b')",
}


@pytest.mark.parametrize("code", STUCK.values(), ids=STUCK)
def test_a_call_that_is_stuck_is_ended(sandbox: Sandbox, pack: Path, code: str) -> None:
    for isolation in ("warm", "process"):
        cell = sandbox.cell(spec_of(pack, isolation=isolation, confined=True))
        reply = cell.request("call", body("evaluate", code=code), timeout=0.4)
        assert reply.kind in ("timeout", "failed", "died"), reply
        cell.kill()
        assert eventually(lambda pid=cell.pid: not alive(pid))


def test_the_control_a_signal_does_not_end_who_ignores_it() -> None:
    ready = "print('ready', flush=True)\n"
    code = STUCK["ignoring signals"].replace("while True", ready + "while True")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as stuck:
        assert stuck.stdout is not None
        stuck.stdout.readline()
        stuck.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert stuck.poll() is None
        stuck.kill()


def test_files_without_end_are_noticed(sandbox: Sandbox, pack: Path) -> None:
    code = "import time\nfor n in range({count}): open(f'f{{n}}', 'w').close()\ntime.sleep({wait})"
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert value(run(cell, code.format(count=50, wait=0.6))) == "None"
        reply = call(cell, "evaluate", code=code.format(count=21_000, wait=60), timeout=60)
    assert reply.kind == "died"
    assert "temporary folder" in reply.error


def test_a_flood_of_output_costs_its_limit(sandbox: Sandbox, pack: Path) -> None:
    before = resident()
    with sandbox.borrow(spec_of(pack, rights=limited(output=10_000), confined=True), "s") as cell:
        assert value(call(cell, "flood", size=200_000_000)) == "done"
        assert len(cell.output().stdout) == 10_000
    assert resident() - before < 50_000_000


POISON = "import math, statistics\nmath.floor = lambda x: 'poisoned'\nstatistics.mean = lambda x: 'poisoned'"
SOUND = "import math, statistics\nout = math.floor(1.5), statistics.mean([3])"


def test_what_one_call_changes_reaches_no_other_session_pack_or_right(sandbox: Sandbox, pack: Path) -> None:
    """Within one session, pack and right a warm cell remembers: that is what the control shows."""
    spec = spec_of(pack, confined=True)
    with sandbox.borrow(spec, "poisoned") as cell:
        run(cell, POISON)
    with sandbox.borrow(spec, "poisoned") as cell:
        assert "poisoned" in value(run(cell, SOUND))
    others = [
        (spec, "another session"),
        (spec_of(pack, rights=limited(output=500), confined=True), "poisoned"),
        (spec_of(pack, isolation="fresh", confined=True), "poisoned"),
        (spec_of(pack, isolation="process", confined=True), "poisoned"),
    ]
    for other, session in others:
        with sandbox.borrow(other, session) as cell:
            assert value(run(cell, SOUND)) == "(1, 3)"


def test_one_pack_does_not_see_the_secrets_of_another(sandbox: Sandbox, pack: Path) -> None:
    code = """
import gc, os
texts = [one for one in gc.get_objects() if isinstance(one, dict)]
out = str([v for d in texts for v in list(d.values()) if isinstance(v, str) and v.startswith("hush:")]) \\
    + str(dict(os.environ)) + open("/proc/self/environ").read()
"""
    given = spec_of(pack, confined=True, secrets={"key": "hush:" + "a1b2c3"})
    with sandbox.borrow(given, "s"), sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert "a1b2c3" not in value(run(cell, code))


def imported(sandbox: Sandbox, folder: Path, source: str) -> str:
    try:
        sandbox.cell(spec_of(make_pack(folder, source), confined=True)).close()
    except CellStartError as error:
        return str(error)
    return "started"


def test_code_at_import_is_held(sandbox: Sandbox, tmp_path: Path) -> None:
    target = tmp_path / "owned"
    write = f"open({str(target)!r}, 'w')"
    tries = {
        "in __init__": write,
        "in a thread": f"import threading\nt = threading.Thread(target=lambda: {write})\nt.start(); t.join()",
        "at exit": f"import atexit\natexit.register(lambda: {write})",
        "by a hook": f"import sys\nclass F:\n    def find_spec(self, *a): {write}\nsys.meta_path.insert(0, F())\n"
        "try:\n    import nothing_at_all\nexcept Exception: pass",
    }
    for number, source in enumerate(tries.values()):
        imported(sandbox, tmp_path / str(number), source)
        assert not target.exists(), source
        plain_python(source)
        assert target.exists(), f"vacuous: {source}"
        target.unlink()


def test_a_constructor_of_a_library_is_held(sandbox: Sandbox, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    target, folder = tmp_path / "owned", tmp_path / "pack"
    code = f"""
#include <stdio.h>
__attribute__((constructor)) static void run(void) {{ FILE *f = fopen("{target}", "w"); if (f) fclose(f); }}
"""
    make_pack(folder, "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'evil.so'))\n")
    library = folder / "tools" / "evil.so"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=code, text=True, check=True)
    sandbox.cell(spec_of(folder, confined=True)).close()
    assert not target.exists()
    assert plain_python(f"import ctypes; ctypes.CDLL({str(library)!r})").returncode == 0
    assert target.exists()


def test_a_pth_file_is_not_read(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    site, target = tmp_path / "site", tmp_path / "owned"
    site.mkdir()
    (site / "evil.pth").write_text(f"import pathlib; pathlib.Path({str(target)!r}).touch()\n")
    (site / "sitecustomize.py").write_text(f"open({str(target)!r}, 'w')\n")
    spec = spec_of(pack, confined=False)
    more = CellSpec(**{**vars(spec), "paths": (*spec.paths, str(site))})
    with Sandbox() as own, own.borrow(more, "s") as cell:
        assert str(site) in value(run(cell, "import sys; out = sys.path"))
    assert not target.exists()
    assert plain_python(f"import site; site.addsitedir({str(site)!r})").returncode == 0
    assert target.exists()


BROKER_ATTACKS = {
    "a giant frame": "b'\\xff\\xff\\xff\\xff' + b'x' * 100_000",
    "a flood": "frame * 20_000",
    "no msgpack": "b'\\0\\0\\0\\x04\\xc1\\xc1\\xc1\\xc1'",
    "half a frame": "frame[:-2]",
    "a host of megabytes": "(len(big)).to_bytes(4, 'big') + big",
}


@pytest.mark.parametrize("attack", BROKER_ATTACKS.values(), ids=BROKER_ATTACKS)
def test_attacks_on_the_broker_cost_nobody_else_the_network(sandbox: Sandbox, pack: Path, attack: str) -> None:
    import socket

    code = f"""
import gc, msgpack, os
client = next(one for one in gc.get_objects() if type(one).__name__ == "BrokerClient")
body = msgpack.packb({{"op": "connect", "id": 1, "host": "denied.test", "port": 1, "timeout": 1}})
frame = len(body).to_bytes(4, "big") + body
big = msgpack.packb({{"op": "connect", "id": 1, "host": "x" * 3_000_000, "port": 1}})
os.set_blocking(client._sock.fileno(), False)
data = memoryview({attack})
import time
end = time.monotonic() + 0.5
while data and time.monotonic() < end:
    try:
        data = data[os.write(client._sock.fileno(), data):]
    except BlockingIOError:
        time.sleep(0.001)
    except OSError:
        break
out = "sent"
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        granted = f"127.0.0.1:{server.getsockname()[1]}"
        spec = spec_of(pack, rights=Rights(net=(granted,), private_net=(granted,)), confined=True)
        with sandbox.borrow(spec, "attacker") as cell, sandbox.borrow(spec, "decent") as other:
            assert value(run(cell, code)) == "'sent'"
            asked = f"import socket\nsocket.create_connection({server.getsockname()!r}, 10).close()\nout = 'connected'"
            assert value(run(other, asked)) == "'connected'"
            server.accept()[0].close()
