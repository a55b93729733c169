"""What a confined cell cannot do, each beside a control: the same code in a plain process."""

from __future__ import annotations

import os
import platform
import socket
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.errors import CannotConfine, CellStartError
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import body, call, make_pack, plain_python, run, spec_of, value

ROOT = Path(__file__).parents[1]
confinement = pytest.mark.confinement


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


CANARY = """
import os, pathlib, sys
where = pathlib.Path({where!r})
(where / "canary").write_text("canary")
"""

ON_FILES = {
    "read": "open(where / 'canary').read()",
    "list": "os.listdir(where)",
    "append": "open(where / 'canary', 'a').write('!')",
    "truncate": "os.truncate(where / 'canary', 0)",
    "truncate while reading": "os.open(where / 'canary', os.O_RDONLY | os.O_TRUNC)",
    "remove": "os.unlink(where / 'canary')",
    "rename": "os.rename(where / 'canary', where / 'other')",
    "make": "open(where / 'new', 'w')",
    "make a folder": "os.mkdir(where / 'new')",
    "make a link": "os.symlink('/', where / 'new')",
    "hard link out": "os.link(where / 'canary', os.path.join(os.getcwd(), 'link'))",
    "a link made here": "os.symlink(where / 'canary', 'mine'); open('mine').read()",
    "by dots": "open(os.path.join(os.path.relpath(where), 'canary')).read()",
    "by the root of a process": "open('/proc/self/root' + str(where / 'canary')).read()",
    "by a folder's descriptor": "open(os.open('canary', os.O_RDONLY, dir_fd=os.open(where, os.O_RDONLY))).read()",
}


@confinement
@pytest.mark.parametrize("attempt", ON_FILES.values(), ids=ON_FILES)
def test_files_outside_are_out_of_reach(sandbox: Sandbox, pack: Path, tmp_path: Path, attempt: str) -> None:
    def files() -> dict[str, str]:
        return {
            path.name: "link" if path.is_symlink() else "" if path.is_dir() else path.read_text()
            for path in tmp_path.iterdir()
        }

    code = f"import os, pathlib\nwhere = pathlib.Path({str(tmp_path)!r})\n{attempt}"
    canary = tmp_path / "canary"
    canary.write_text("canary")
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        reply = run(cell, code)
    assert reply.kind == "failed", reply
    assert "Permission" in reply.error or "cross-device" in reply.error
    assert files() == {"canary": "canary"}
    control = plain_python(f"import os, tempfile\nos.chdir(tempfile.mkdtemp(dir={str(tmp_path.parent)!r}))\n{code}")
    assert control.returncode == 0, control.stderr


ELSEWHERE = {
    "fork": "import os\nif os.fork() == 0: os._exit(0)",
    "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', ''])",
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)",
    "memfd": "import os\nos.memfd_create('x')",
    "kill": "import os\nos.kill(os.getppid(), 0)",
    "udp": "import _socket\n_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)",
    "tcp": "import _socket\n_socket.socket(_socket.AF_INET)",
    "unix": "import _socket\n_socket.socket(_socket.AF_UNIX)",
    "netlink": "import _socket\n_socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW)",
    "datagram pair": "import _socket\n_socket.socketpair(_socket.AF_UNIX, _socket.SOCK_DGRAM)",
    "environment of the host": "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "priority": "import os\nos.nice(1)",
    "shared memory": "import ctypes\nassert ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0",
    "watching a folder": "import ctypes\nassert ctypes.CDLL(None).inotify_init() >= 0",
    "limits of others": "import resource, os\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "extended attribute": "import os\nopen('x', 'w')\nos.setxattr('x', 'user.a', b'b')",
}


@confinement
@pytest.mark.parametrize("code", ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_rest_of_the_machine_is_out_of_reach(sandbox: Sandbox, pack: Path, code: str, tmp_path: Path) -> None:
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        reply = run(cell, code)
    assert reply.kind == "failed", reply
    control = plain_python(f"import os\nos.chdir({str(tmp_path)!r})\n{code}")
    assert control.returncode == 0, control.stderr


RAW = {
    "memfd_create": "319, b'x', 0",
    "openat2": "437, -100, b'/etc/passwd', bytes(24), 24",
    "io_uring_setup": "425, 1, ctypes.create_string_buffer(120)",
    "keyctl": "250, 0, -3, 1",
    "unshare": "272, 0x10000000",
    "userfaultfd": "323, 1",
    "msgget": "68, 0, 0o1600",
    "pidfd_open": "434, os.getppid(), 0",
    "inotify_init1": "294, 0",
    "personality": "135, 0x0040000",
    "ptrace": "101, 0, 0, 0, 0",
    "open_tree": "428, -100, b'/', 1",
    "fsopen": "430, b'tmpfs', 0",
    "bpf": "321, 0, bytes(72), 72",
    "setpgid": "109, 0, 0",
    "vfork": "58",
    "io_setup": "206, 1, ctypes.create_string_buffer(8)",
    "MSG_FASTOPEN": "44, socket.socketpair()[0].fileno(), b'x', 1, 0x20000000, 0, 0",
    "set-user-id file": "2, b'planted', 0o102, 0o4755",
}


@confinement
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_raw_system_calls_are_refused(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    """Only calls that succeed without confinement prove anything; which those are depends on the machine."""
    proved = []
    for name, arguments in RAW.items():
        code = f"""
import ctypes, os, socket
library = ctypes.CDLL(None, use_errno=True)
if library.syscall({arguments}) < 0:
    raise OSError(ctypes.get_errno(), "refused")
"""
        if plain_python(f"import os; os.chdir({str(tmp_path)!r})\n{code}").returncode != 0:
            continue
        with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
            assert "refused" in run(cell, code).error, name
        proved.append(name)
    assert len(proved) > len(RAW) // 2, proved


@confinement
def test_import_time_code_is_confined(sandbox: Sandbox, tmp_path: Path) -> None:
    target = tmp_path / "canary"
    source = f"open({str(target)!r}, 'w').write('escaped')\n"
    with pytest.raises(CellStartError, match="Permission"):
        sandbox.cell(spec_of(make_pack(tmp_path / "bad", source), confined=True))
    assert not target.exists()
    assert plain_python(source).returncode == 0
    assert target.exists()


@confinement
def test_everything_is_in_force_before_the_pack_is_imported(sandbox: Sandbox, tmp_path: Path) -> None:
    source = """
import os, resource
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
seen = {key: status[key].split() for key in ("NoNewPrivs", "Seccomp", "CapEff", "CapPrm", "CapBnd", "Threads")}
seen["session"] = os.getsid(0) == os.getpid()
seen["core"] = resource.getrlimit(resource.RLIMIT_CORE)
seen["files"] = resource.getrlimit(resource.RLIMIT_NOFILE)
seen["memory"] = resource.getrlimit(resource.RLIMIT_AS)[1] > 0
try:
    open("/etc/passwd")
except PermissionError:
    seen["landlock"] = True
def look() -> dict:
    return seen
"""
    cell = sandbox.cell(spec_of(make_pack(tmp_path, source), confined=True))
    seen = value(cell.request("call", {"handler": "tools:look", "arguments": b"{}", "context": {}}, timeout=30))
    none = ["0000000000000000"]
    assert seen["NoNewPrivs"] == ["1"]
    assert seen["Seccomp"] == ["2"]
    assert seen["Threads"] == ["1"]
    assert seen["CapEff"] == seen["CapPrm"] == none
    assert seen["session"]
    assert seen["landlock"]
    assert seen["memory"]
    assert seen["core"] == [0, 0]
    assert seen["files"] == [256, 256]
    cell.close()


@confinement
def test_what_is_granted_works(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    docs, notes, work = tmp_path / "docs", tmp_path / "notes.txt", tmp_path / "work"
    docs.mkdir()
    work.mkdir()
    (docs / "a.txt").write_text("a")
    notes.write_text("n")
    rights = Rights(read=(f"{docs}/**", str(notes)), write=(f"{work}/**",))
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        code = f"""
import os, shutil
docs, notes, work = {str(docs)!r}, {str(notes)!r}, {str(work)!r}
os.mkdir(work + "/one"); os.mkdir(work + "/two")
shutil.copy(docs + "/a.txt", work + "/one/a.txt")
os.replace(work + "/one/a.txt", work + "/two/b.txt")
os.truncate(work + "/two/b.txt", 0)
open(work + "/two/b.txt", "w").write(open(notes).read())
out = open(work + "/two/b.txt").read()
"""
        assert value(run(cell, code)) == "'n'"
        for attempt in (f"open({str(notes)!r}, 'a')", f"open({str(docs)!r} + '/new', 'w')", f"open({str(tmp_path)!r})"):
            assert run(cell, attempt).kind == "failed"
    assert (work / "two" / "b.txt").read_text() == "n"


@confinement
@pytest.mark.parametrize("grant", ["{}/missing", "{}/missing/**", "{}/link", "{}/link/**", "{}"])
def test_a_grant_that_is_not_what_it_says_starts_no_cell(
    sandbox: Sandbox, pack: Path, tmp_path: Path, grant: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    path = grant.format(tmp_path)
    with pytest.raises(CellStartError, match="granted path"):
        sandbox.cell(spec_of(pack, rights=Rights(read=(path,)), confined=True))
    with sandbox.borrow(spec_of(pack, rights=Rights(read=(f"{tmp_path}/real/**",)), confined=True), "s") as cell:
        assert value(call(cell, "echo", text="x")) == "x"


@confinement
def test_renaming_a_granted_folder_away_widens_nothing(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "secret").write_text("secret")
    with sandbox.borrow(spec_of(pack, rights=Rights(read=(f"{tmp_path}/a/**",)), confined=True), "s") as cell:
        (tmp_path / "a").rename(tmp_path / "was a")
        (tmp_path / "b").rename(tmp_path / "a")
        assert run(cell, f"open({str(tmp_path)!r} + '/a/secret')").kind == "failed"
    assert plain_python(f"open({str(tmp_path)!r} + '/a/secret')").returncode == 0


@confinement
def test_memory_beyond_the_limit_is_an_error_of_its_own(sandbox: Sandbox, pack: Path) -> None:
    rights = Rights(limits=Limits(memory=64 * 1024 * 1024))
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        assert "MemoryError" in run(cell, "bytearray(2**30)").error
        assert run(cell, "import mmap; mmap.mmap(-1, 2**30)").kind == "failed"
        assert value(run(cell, "bytearray(2**24)")) == "None"
    assert plain_python("import mmap; bytearray(2**30); mmap.mmap(-1, 2**30)").returncode == 0


@confinement
def test_files_beyond_the_limit_are_an_error_of_their_own(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    code = "open('big', 'wb').write(bytes(2**21))"
    rights = Rights(limits=Limits(file_size=2**20, open_files=64))
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        assert "too large" in run(cell, code).error
        assert "Too many open files" in run(cell, "import os; [os.open('/dev/null', 0) for _ in range(100)]").error
    assert plain_python(f"import os; os.chdir({str(tmp_path)!r}); {code}").returncode == 0


@confinement
def test_a_late_call_ends_all_that_it_started(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    programs = tuple({os.path.realpath(f"/bin/{name}") for name in ("sh", "sleep")})
    rights = Rights(exec=programs, limits=Limits(processes=16))
    cell = sandbox.cell(spec_of(pack, rights=rights, isolation="process", confined=True))
    code = f"""
import os, subprocess, time
sleep = {os.path.realpath("/bin/sleep")!r}
shell = subprocess.Popen([{os.path.realpath("/bin/sh")!r}, "-c", f"{{sleep}} 600 & {{sleep}} 601 & {{sleep}} 602"])
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(603)
    os._exit(0)
time.sleep(604)
"""
    reply = cell.request("call", body("evaluate", code=code), timeout=3)
    assert reply.kind == "timeout"
    assert not session_of(cell.pid)


def session_of(leader: int) -> list[int]:
    from remit_sandbox.supervisor import tree

    return [pid for pid, _, session in tree._processes() if session == leader]


@confinement
def test_more_processes_than_granted_end_the_cell(sandbox: Sandbox, pack: Path) -> None:
    rights = Rights(limits=Limits(processes=4))
    cell = sandbox.cell(spec_of(pack, rights=rights, isolation="process", confined=True))
    code = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        time.sleep(600)
time.sleep(600)
"""
    reply = cell.request("call", body("evaluate", code=code), timeout=60)
    assert reply.kind in ("died", "failed")
    cell.kill()
    assert not session_of(cell.pid)


@confinement
@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6])
def test_older_kernels_hold_too(pack: Path, tmp_path: Path, abi: int) -> None:
    (tmp_path / "canary").write_text("canary")
    with Sandbox() as sandbox:
        sandbox._highest_abi = abi
        with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
            for name in ("read", "truncate", "truncate while reading", "remove", "make"):
                code = f"import os, pathlib\nwhere = pathlib.Path({str(tmp_path)!r})\n{ON_FILES[name]}"
                assert run(cell, code).kind == "failed", name
            for name in ("tcp", "udp", "kill", "fork"):
                assert run(cell, ELSEWHERE[name]).kind == "failed", name
            assert value(
                run(cell, "import tempfile, os\nf = tempfile.NamedTemporaryFile('w')\nos.kill(os.getpid(), 0)")
            )
    assert (tmp_path / "canary").read_text() == "canary"


@confinement
def test_kernel_is_refused_where_landlock_is_missing(pack: Path) -> None:
    with Sandbox() as sandbox:
        sandbox._highest_abi = 0
        with pytest.raises(CannotConfine, match="Landlock"):
            sandbox.cell(spec_of(pack, confined=True))
        cell = sandbox.cell(spec_of(pack))
        assert cell.enforcement["files"] == "not enforced"
        assert cell.enforcement["processes"] == "kernel"


WITHOUT_LANDLOCK = """
import struct, sys
sys.path.insert(0, {root!r})
from remit_sandbox.confine import bpf, process, seccomp
from remit_sandbox.confine.numbers import AUDIT_ARCH
from remit_sandbox.confine import kernel
steps = [bpf.load(bpf.NUMBER)]
for number in (444, 445, 446):
    steps += bpf.if_equal(number, [bpf.give(bpf.error(38))])
process.forbid_new_privileges()
seccomp.install(bpf.assemble([*steps, bpf.give(bpf.ALLOW)]))
from pathlib import Path
from remit_sandbox.errors import CannotConfine
from remit_sandbox.probe import probe
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import body, call, run, spec_of, value
pack = Path({pack!r})
found = probe()
assert found.landlock_abi == 0 and "Landlock" in found.missing[0], found
assert next(row.by for row in found.rows if row.right == "files: read") == "not enforced"
assert next(row.by for row in found.rows if row.right == "processes: fork") == "kernel"
with Sandbox() as sandbox:
    try:
        sandbox.cell(spec_of(pack, confined=True))
    except CannotConfine as error:
        print(error)
    cell = sandbox.cell(spec_of(pack))
    assert cell.enforcement["files"] == "not enforced" and cell.enforcement["network"] == "kernel"
    assert value(call(cell, "echo", text="x")) == "x"
    assert run(cell, "open('/etc/passwd').read()").kind == "result"
    assert run(cell, "import os; os.fork()").kind == "failed"
    assert cell.request("call", body("spin"), timeout=0.2).kind == "timeout"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs seccomp to take Landlock away")
def test_a_kernel_without_landlock_is_named_and_can_be_accepted(pack: Path) -> None:
    code = WITHOUT_LANDLOCK.format(root=str(ROOT), pack=str(pack))
    done = plain_python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    assert "this kernel has no Landlock" in done.stdout
    assert "errno 38" in done.stdout


@confinement
def test_passed_descriptors_of_tcp_connections_can_be_used(sandbox: Sandbox, pack: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        rights = Rights(net=(f"127.0.0.1:{address[1]}",), private_net=(f"127.0.0.1:{address[1]}",))
        with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
            code = f"""
import socket
with socket.create_connection({address!r}, 10) as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(b"x")
    out = connection.getpeername()
"""
            assert value(run(cell, code)) == repr(address)
        accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(10) == b"x"
