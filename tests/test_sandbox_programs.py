"""Granted programs: by path and hash, compared before each run, never one that the skill may write."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remit_sandbox.confine.programs import digest_of, script_interpreter
from remit_sandbox.errors import CellStartError
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Limits, Rights
from tests.sandbox_parts import make_pack, plain_python, run, spec_of, value

confinement = pytest.mark.confinement
ECHO = os.path.realpath("/bin/echo")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture
def program(tmp_path: Path) -> str:
    place = tmp_path.resolve() / "bin"
    place.mkdir()
    return str(shutil.copy(ECHO, place / "tool"))


@pytest.fixture
def spec(tmp_path: Path, program: str) -> CellSpec:
    rights = Rights(exec=(program,), program_digests={program: digest_of(program)}, limits=Limits(processes=8))
    return spec_of(make_pack(tmp_path / "pack"), rights=rights, isolation="process", confined=True)


def said(program: str) -> str:
    return f"import subprocess\nout = subprocess.run([{program!r}, 'hi'], capture_output=True, text=True).stdout"


@confinement
def test_the_program_that_was_granted_runs(sandbox: Sandbox, spec: CellSpec, program: str) -> None:
    for _ in range(3):
        with sandbox.borrow(spec, "s") as cell:
            assert value(run(cell, said(program))) == "'hi\\n'"


@confinement
@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_a_changed_program_is_refused_before_anything_runs(
    sandbox: Sandbox, spec: CellSpec, program: str, how: str
) -> None:
    with sandbox.borrow(spec, "s") as cell:
        assert value(run(cell, said(program))) == "'hi\\n'"
    time.sleep(0.01)
    if how == "in place":
        with open(program, "ab") as file:
            file.write(b"x")
    else:
        shutil.copy(os.path.realpath("/bin/true"), program + ".new")
        os.replace(program + ".new", program)
    with pytest.raises(CellStartError, match="changed or replaced") as caught, sandbox.borrow(spec, "s"):
        pass
    assert program in caught.value.reason and caught.value.by == "supervisor"
    control = replace(spec, rights=replace(spec.rights, program_digests={}))
    with sandbox.borrow(control, "s") as cell:
        assert run(cell, said(program)).kind == "result"


def test_it_is_compared_where_nothing_can_confine_as_well(spec: CellSpec, program: str) -> None:
    with Sandbox() as sandbox:
        sandbox._highest_abi = 0
        free = replace(spec, enforcement="available")
        with sandbox.borrow(free, "s") as cell:
            assert value(run(cell, said(program))) == "'hi\\n'"
        with open(program, "ab") as file:
            file.write(b"x")
        with pytest.raises(CellStartError, match="changed or replaced"), sandbox.borrow(free, "s"):
            pass


@confinement
def test_a_program_that_the_skill_may_write_is_refused(
    sandbox: Sandbox, spec: CellSpec, program: str, tmp_path: Path
) -> None:
    for grant in (program, f"{Path(program).parent}/**", f"{tmp_path.resolve()}/**"):
        wide = replace(spec, rights=replace(spec.rights, write=(grant,)))
        with pytest.raises(CellStartError, match="run and write"), sandbox.borrow(wide, "s"):
            pass
    beside = tmp_path.resolve() / "beside"
    beside.mkdir()
    narrow = replace(spec, rights=replace(spec.rights, write=(f"{beside}/**",)))
    with sandbox.borrow(narrow, "s") as cell:
        assert value(run(cell, said(program))) == "'hi\\n'"


@confinement
def test_another_program_is_refused_by_name(sandbox: Sandbox, spec: CellSpec) -> None:
    with sandbox.borrow(spec, "s") as cell:
        reply = run(cell, said(os.path.realpath("/bin/cat")))
    assert 'no right to run cat (missing: exec = ["cat"])' in reply.error
    assert [(one.right, one.what, one.seen_by) for one in reply.denied] == [("exec", "cat", "cell")]
    with sandbox.borrow(replace(spec, rights=Rights(), isolation="warm"), "s") as cell:
        assert 'missing: exec = ["echo"]' in run(cell, said(ECHO)).error


def test_a_script_names_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#! /usr/bin/env python3\n")
    assert script_interpreter(str(script)) == "/usr/bin/env"
    assert script_interpreter(ECHO) == ""
    assert script_interpreter(str(tmp_path / "none")) == ""


ATTACKS = {
    "read": "open({secret!r}).read()",
    "write": "open({secret!r}, 'a').write('!')",
    "make": "open({secret!r} + '.new', 'w')",
    "connect": "import _socket; _socket.socket(_socket.AF_INET).connect(('127.0.0.1', {port}))",
    "unix": "import _socket; _socket.socket(_socket.AF_UNIX)",
    "kill": "import os; os.kill({victim}, 0)",
    "environment": "import os; open('/proc/{victim}/environ', 'rb').read()",
    "memfd": "import os; os.memfd_create('x')",
    "another program": "import os; os.execv({other!r}, ['x'])",
    "namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
}


@confinement
def test_a_granted_interpreter_stays_inside_the_same_walls(sandbox: Sandbox, tmp_path: Path) -> None:
    """A grant of an interpreter is a grant of whatever it can be told; the walls are the same."""
    root = tmp_path.resolve()
    python = os.path.realpath(sys.executable)
    secret = root / "secret"
    secret.write_text("secret")
    rights = Rights(exec=(python,), program_digests={python: digest_of(python)}, limits=Limits(processes=8))
    spec = spec_of(make_pack(root / "pack"), rights=rights, isolation="process", confined=True)
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["sleep", "60"]) as victim:
        facts = {"secret": str(secret), "port": server.getsockname()[1], "victim": victim.pid, "other": ECHO}
        try:
            for name, attack in ATTACKS.items():
                code = attack.format(**facts)
                child = f"import subprocess\nout = subprocess.run([{python!r}, '-I', '-S', '-c', {code!r}]).returncode"
                with sandbox.borrow(spec, "s") as cell:
                    works = f"import subprocess\nsubprocess.run([{python!r}, '-I', '-S', '-c', ''], check=True)"
                    assert run(cell, works).kind == "result"
                    assert value(run(cell, child)) != "0", name
                assert secret.read_text() == "secret" and not Path(f"{secret}.new").exists(), name
                assert plain_python(code).returncode == 0, name
                secret.write_text("secret")
                Path(f"{secret}.new").unlink(missing_ok=True)
        finally:
            victim.kill()


@confinement
def test_granted_programs_run_inside_the_same_walls(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    program = os.path.realpath("/bin/cat")
    rights = Rights(exec=(program,), limits=Limits(processes=8))
    spec = spec_of(make_pack(tmp_path / "pack"), rights=rights, isolation="process", confined=True)
    with sandbox.borrow(spec, "s") as cell:
        code = f"""
import subprocess
open("mine", "w").write("mine")
good = subprocess.run([{program!r}, "mine"], capture_output=True, text=True)
bad = subprocess.run([{program!r}, {str(secret)!r}], capture_output=True, text=True)
out = good.stdout, bad.stdout, bad.returncode
"""
        assert value(run(cell, code)) == "('mine', '', 1)"
        assert run(cell, f"import subprocess; subprocess.run([{os.path.realpath('/bin/ls')!r}])").kind == "failed"
    assert subprocess.run([program, secret], capture_output=True, text=True, check=True).stdout == "secret"
