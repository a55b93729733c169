"""Faults of other sandboxes, as their users reported them: what ours does in each case.

The rows are in tests/data/field_sandbox.jsonl.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.confine.landlock import weaker
from remit_sandbox.errors import CellStartError
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import body, call, eventually, make_pack, plain_python, run, spec_of, value
from tests.without_calls import without

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "field_sandbox.jsonl"
CASES = {case["id"]: case for case in map(json.loads, DATA.read_text("utf-8").splitlines())}
pytestmark = pytest.mark.confinement

HOLDS = {
    "E100": "confinement needs no user namespace: where they are forbidden a cell is confined all the same",
    "E101": "a cell has the standard variables and those it is granted; its parent's environment is unreadable",
    "E102": "the environment is built from nothing: /proc/self/environ holds no variable of the host either",
    "E107": "what the rights say and what happens agree, and a local socket is out of reach in a granted folder, too",
    "E108": "siblings are granted instead of subtracting: nothing is renamed, linked or made in the folder left out",
    "E110": "zone data is readable in every cell, and TZ is the one that is granted",
    "E112": "TMPDIR, HOME and their like are one private folder that is there, works, and goes",
    "E113": "a grant that is not there ends the start: nothing of the pack has run, and nothing runs unconfined",
    "E84": "the probe names what is forbidden, with its errno, before anything runs",
    "E85": "a lock or pool of processes works with shm, else it fails and the error names shm; threads and pipes work",
    "E86": "grants work with the oldest Landlock, and Landlock comes before the filter",
    "E87": "unknown calls and clone3 answer ENOSYS, so that threads start",
    "E90": "thread counts of numeric libraries are set to the granted CPUs before anything is imported",
    "E93": "a cell is no fork of the host: its limit counts from its own small baseline",
    "E96": "a limit above the hard one is clamped to it",
    "E97": "a late call ends everything that it started, whatever group it wanted to be in",
}
"""Case to what holds here."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


def test_the_table_is_whole() -> None:
    tested = {name.removeprefix("test_").split("_")[0].upper() for name in globals() if re.match(r"test_e\d", name)}
    assert set(HOLDS) == set(CASES) == tested


def test_e100_no_user_namespaces(pack: Path) -> None:
    code = """
    try:
        kernel.syscall(numbers["unshare"], 0x10000000)
        raise SystemExit("the control: it is not forbidden")
    except PermissionError:
        pass
    with Sandbox() as sandbox, sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert value(call(cell, "echo", text="x")) == "x"
        assert run(cell, "open('/etc/passwd')").kind == "failed"
        assert not probe(refresh=True).missing
    """
    done = without(pack, '[numbers["unshare"], 435]', code)
    assert done.returncode == 0, done.stderr


SECRETS = {"CLUSTER_TOKEN": "t0p", "AWS_SECRET_ACCESS_KEY": "xyzzy-key", "BLUE_FISH": "hunter2"}
STANDARD = re.compile(
    r"PATH|LANG|LANGUAGE|LC_\w+|TZ|HOME|TMPDIR|XDG_CACHE_HOME|SQLITE_TMPDIR|MPLCONFIGDIR|\w+_NUM_THREADS"
    r"|VECLIB_MAXIMUM_THREADS|PYDANTIC_DISABLE_PLUGINS|MALLOC_ARENA_MAX"
)
LOOK = """
import os
def words(path):
    try:
        return open(path, "rb").read().decode("utf-8", "replace")
    except OSError as error:
        return type(error).__name__
out = dict(os.environ), words("/proc/self/environ"), words(f"/proc/{os.getppid()}/environ")
"""


def test_e101_variables(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in SECRETS.items():
        monkeypatch.setenv(name, text)
    rights = Rights(env={"GRANTED": "yes"})
    with Sandbox() as sandbox, sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        found, _, parents = eval(value(run(cell, LOOK)))
    assert found.pop("GRANTED") == "yes"
    assert [name for name in found if not STANDARD.fullmatch(name)] == []
    assert parents == "PermissionError"
    control = plain_python(LOOK + "\nprint(out)")
    assert "hunter2" in control.stdout


def test_e102_the_first_environment(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in SECRETS.items():
        monkeypatch.setenv(name, text)
    for isolation in ("warm", "fresh", "process"):
        with Sandbox() as sandbox, sandbox.borrow(spec_of(pack, isolation=isolation, confined=True), "s") as cell:
            seen = value(run(cell, LOOK))
        assert "PATH=" in seen
        assert not [text for pair in SECRETS.items() for text in pair if text in seen]
    assert "BLUE_FISH=hunter2" in plain_python(LOOK + "\nprint(out)").stdout


ACTIONS = {
    "read": "open({path!r}).read()",
    "append": "open({path!r}, 'a').write('x')",
    "list": "import os; os.listdir(os.path.dirname({path!r}))",
    "make": "open({path!r} + '.new', 'w')",
    "truncate": "import os; os.truncate({path!r}, 0)",
}


def allowed(rights: Rights, folder: str, action: str) -> bool:
    """What the rights say."""
    reads = {grant.removesuffix("/**") for grant in (*rights.read, *rights.write)}
    writes = {grant.removesuffix("/**") for grant in rights.write}
    return folder in (reads if action in ("read", "list") else writes)


def test_e107_what_is_said_is_what_happens(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    folders = [tmp_path / name for name in "abcdef"]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("x")
    for _ in range(4):
        read, write = chance.sample(folders, 2), chance.sample(folders, 2)
        rights = Rights(read=tuple(f"{one}/**" for one in read), write=tuple(f"{one}/**" for one in write))
        with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
            for _ in range(15):
                folder, action = chance.choice(folders), chance.choice([*ACTIONS])
                reply = run(cell, ACTIONS[action].format(path=f"{folder}/file"))
                assert (reply.kind == "result") is allowed(rights, str(folder), action), (folder, action, rights)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folders[0] / "s"))
        server.listen()
        code = f"import socket\nsocket.socket(socket.AF_UNIX).connect({str(folders[0] / 's')!r})"
        rights = Rights(write=(f"{folders[0]}/**",))
        with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
            assert cell.enforcement["network"] == "kernel"
            assert run(cell, code).kind == "failed"
        assert plain_python(code).returncode == 0


def test_e108_a_folder_left_out(sandbox: Sandbox, pack: Path, tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (tmp_path / "src").mkdir()
    attempts = (
        "open('t', 'w').write('id'); os.replace('t', hooks + '/post-checkout')",
        "open('u', 'w').write('id'); os.link('u', hooks + '/post-checkout')",
        "os.mkdir(hooks + '/post-checkout')",
        "open(hooks + '/../config', 'w').write('[core]\\nhooksPath = src\\n')",
    )
    rights = Rights(write=(f"{tmp_path}/src/**",))
    spec = spec_of(pack, rights=rights, confined=True, cwd=f"{tmp_path}/src")
    for attempt in attempts:
        code = f"import os\nhooks = {str(hooks)!r}\n{attempt}"
        with sandbox.borrow(spec, "s") as cell:
            assert value(run(cell, "open('fine', 'w').write('x')")) == "None"
            assert run(cell, code).kind == "failed"
        assert list(hooks.iterdir()) == []
        assert not (tmp_path / ".git" / "config").exists()
    control = f"import os\nos.chdir({str(tmp_path / 'src')!r})\nhooks = {str(hooks)!r}\n{attempts[0]}"
    assert plain_python(control).returncode == 0
    assert (hooks / "post-checkout").exists()


def test_e110_time_zones(sandbox: Sandbox, pack: Path) -> None:
    code = """
import datetime, time, zoneinfo
when = datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Asia/Kolkata"))
out = time.strftime("%z"), when.strftime("%z")
"""
    spec = spec_of(pack, rights=Rights(env={"TZ": "Asia/Kolkata"}), confined=True)
    with sandbox.borrow(spec, "s") as cell:
        assert value(run(cell, code)) == "('+0530', '+0530')"
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert "ZoneInfoNotFoundError" in run(cell, "import zoneinfo; zoneinfo.ZoneInfo('No/Where')").error


def test_e112_temporary_files(sandbox: Sandbox, pack: Path) -> None:
    code = """
import os, pathlib, sqlite3, stat, tempfile
handle, name = tempfile.mkstemp()
base = sqlite3.connect("")
base.execute("pragma temp_store = file")
base.execute("pragma cache_size = 10")
base.execute("create table t as with recursive n(x) as (select 1 union all select x + 1 from n where x < 20000)"
             " select x, hex(randomblob(20)) y from n")
rows = base.execute("select count(*) from (select * from t order by y)").fetchone()
home = pathlib.Path.home()
(home / ".settings").write_text("x")
places = {os.environ[name] for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "SQLITE_TMPDIR")}
out = len(places), stat.S_IMODE(os.stat(home).st_mode), rows[0], sorted(os.listdir(home)), str(home)
"""
    homes = set()
    for _ in range(2):
        with sandbox.borrow(spec_of(pack, isolation="fresh", confined=True), "s") as cell:
            places, mode, rows, files, home = eval(value(run(cell, code)))
        assert (places, mode, rows, len(files)) == (1, 0o700, 20000, 2)
        assert eventually(lambda place=Path(home): not place.exists())
        homes.add(home)
    assert len(homes) == 2


def test_e113_never_unconfined(sandbox: Sandbox, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    project = make_pack(tmp_path / "pack", f"open({str(work / 'ran')!r}, 'w')\ndef tool() -> str:\n    return 'x'\n")
    for enforcement in (True, False):
        missing = Rights(write=(f"{work}/**",), read=(f"{tmp_path}/missing/**",))
        with pytest.raises(CellStartError, match="granted path"):
            sandbox.cell(spec_of(project, rights=missing, confined=enforcement))
        assert not (work / "ran").exists()
    sandbox.cell(spec_of(project, rights=Rights(write=(f"{work}/**",)), confined=True)).close()
    assert (work / "ran").exists()


def test_e84_a_container_that_forbids_landlock(pack: Path) -> None:
    code = """
    found = probe()
    print("; ".join(found.missing))
    held = {row.right: row.by for row in found.rows}
    assert held["files: read"] == "not enforced" and held["processes: fork"] == "kernel", held
    try:
        Sandbox().cell(spec_of(pack, confined=True))
    except Exception as error:
        print(type(error).__name__, error)
    """
    done = without(pack, "[444, 445, 446]", code)
    assert done.returncode == 0, done.stderr
    assert "such as a container's, forbids Landlock (errno 1)" in done.stdout
    assert "CannotConfine" in done.stdout
    told = json.loads(without(pack, "[444, 445, 446]", DOCTOR).stdout)
    assert told["machine"]["kernel"] == platform.release() and "container" in told["machine"]
    assert "errno 1" in told["missing"][0]


DOCTOR = """
    from remit.cli.main import run
    run(["doctor", "--json"])
"""


def test_e85_shared_memory(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        refused = run(cell, "import multiprocessing; multiprocessing.Lock()")
        assert refused.kind == "failed"
        assert "this skill has no right to shared memory (missing: shm = true)" in refused.error
        code = """
import concurrent.futures, threading
with threading.Lock(), concurrent.futures.ThreadPoolExecutor(2) as pool:
    out = list(pool.map(abs, [-1, -2]))
"""
        assert value(run(cell, code)) == "[1, 2]"
    assert plain_python("import multiprocessing; multiprocessing.Lock()").returncode == 0
    pool = "from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: out = list(p.map(abs, [-1, -2]))"
    spec = spec_of(pack, rights=Rights(shm=True, limits=Limits(processes=8)), isolation="process", confined=True)
    try:
        with sandbox.borrow(spec, "s") as cell:
            assert value(run(cell, pool)) == "[1, 2]"
    except CellStartError as error:
        assert "mount namespace" in error.reason


def test_e86_the_oldest_landlock(pack: Path, tmp_path: Path) -> None:
    code = f"import os\nopen({str(tmp_path)!r} + '/a', 'w').write('x')\nout = os.listdir({str(tmp_path)!r})"
    with Sandbox() as sandbox:
        sandbox._highest_abi = 1
        rights = Rights(write=(f"{tmp_path}/**",))
        with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
            assert value(run(cell, code)) == "['a']"
            assert cell.enforcement["files"] == "kernel"
            assert run(cell, "open('/etc/passwd')").kind == "failed"
    assert [line for line in weaker(1) if "truncat" in line] and weaker(7) == ()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_e87_unknown_calls(sandbox: Sandbox, pack: Path) -> None:
    code = """
import ctypes, threading
library = ctypes.CDLL(None, use_errno=True)
def asked(number):
    return library.syscall(number, 0, 0, 0), ctypes.get_errno()
said = []
thread = threading.Thread(target=said.append, args=("started",))
thread.start(); thread.join()
out = asked(999), asked(435), said
"""
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert value(run(cell, code)) == "((-1, 38), (-1, 38), ['started'])"


def test_e90_as_many_threads_as_cpus(sandbox: Sandbox, pack: Path) -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    rights = Rights(limits=Limits(memory=512 * 1024 * 1024))
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        found = value(run(cell, f"import os; out = [os.environ[name] for name in {names!r}]"))
        assert found == repr([str(len(os.sched_getaffinity(0)))] * len(names))


def test_e93_a_host_with_much_memory(pack: Path) -> None:
    code = f"""
import mmap, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import run, spec_of, value
much = mmap.mmap(-1, 40 * 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
rights = Rights(limits=Limits(memory=2**29))
with Sandbox() as sandbox, sandbox.borrow(spec_of(Path({str(pack)!r}), rights=rights, confined=True), "s") as cell:
    assert value(run(cell, "import decimal, mmap; out = str(decimal.Decimal(1) / 4)")) == repr("0.25")
    assert run(cell, "import mmap; mmap.mmap(-1, 2 * 2**30)").kind == "failed"
"""
    done = plain_python(code)
    assert done.returncode == 0, done.stderr


def test_e96_a_hard_limit_below_the_wish(pack: Path) -> None:
    code = f"""
import resource, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import run, spec_of, value
with Sandbox() as sandbox, sandbox.borrow(spec_of(Path({str(pack)!r}), confined=True), "s") as cell:
    print(value(run(cell, "import resource; out = resource.getrlimit(resource.RLIMIT_FSIZE)")))
"""
    done = plain_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str((2**20, 2**20))
    assert Limits().file_size > 2**20
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] != 2**20


def test_e97_all_that_it_started(sandbox: Sandbox, pack: Path) -> None:
    programs = {name: os.path.realpath(f"/usr/bin/{name}") for name in ("sh", "sleep", "setsid")}
    if not all(map(os.path.exists, programs.values())):
        pytest.skip("needs sh, sleep and setsid")
    mark = f"{random.randrange(10**6, 10**7)}"
    command = " & ".join(f"{end} {programs['sleep']} {mark}{digit}" for digit, end in enumerate(("", "setsid", "")))
    command = command.replace("setsid", programs["setsid"])
    rights = Rights(exec=tuple(programs.values()), limits=Limits(processes=16))
    cell = sandbox.cell(spec_of(pack, rights=rights, isolation="process", confined=True))
    code = f"import subprocess\nsubprocess.run([{programs['sh']!r}, '-c', {command!r}])"
    reply = cell.request("call", body("evaluate", code=code), timeout=2)
    assert reply.kind == "timeout"
    assert eventually(lambda: not running(mark))
    with subprocess.Popen([programs["sleep"], f"{mark}9"]) as control:
        assert eventually(lambda: running(mark))
        control.kill()


def running(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_text().split("\0")
            except OSError:
                continue
            found += [folder.name] if len(words) > 1 and words[1].startswith(mark) else []
    return found


def test_calls_work_in_the_cell_that_the_cases_use(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert value(call(cell, "echo", text="x")) == "x"
