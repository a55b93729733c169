"""Everything imports where there is no Linux; what is Linux's own is asked for late."""

from __future__ import annotations

from tests.sandbox_parts import plain_python

ELSEWHERE = """
import os, signal, sys
sys.platform = "darwin"
for name in ("O_PATH", "pidfd_open", "sched_getaffinity", "waitid", "P_ALL", "WNOWAIT", "WEXITED"):
    if hasattr(os, name):
        delattr(os, name)
import pkgutil, importlib, remit_sandbox.supervisor, remit_sandbox.confine
for package in (remit_sandbox.supervisor, remit_sandbox.confine):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
import remit_sandbox.sandbox, remit_sandbox.cell, remit_sandbox.frames
from remit_sandbox.probe import probe
from remit_sandbox.confine import confine
found = probe()
assert found.landlock_abi == 0
assert "only Linux" in found.missing[0]
assert {row.by for row in found.rows} == {"not enforced", "broker", "process", "polled", "kernel"}
assert [row.right for row in found.rows if row.by == "kernel"] == ["CPU time"]
assert "only Linux" in next(row.detail for row in found.rows if row.right == "shared memory of its own")
machine = confine.means()
assert machine.landlock == 0 and len(machine.missing) == 2, machine
held = confine.enforcement(machine, linux=False, broker=True)
assert held["files"] == held["network"] == held["processes"] == held["memory"] == "not enforced"
assert held["time"] == "process"
assert held["shared memory"] == "not enforced"
from remit_sandbox.supervisor import tree
assert list(tree.ended({1})) == []
"""


def test_the_sandbox_imports_and_says_what_it_cannot_do() -> None:
    done = plain_python(ELSEWHERE)
    assert done.returncode == 0, done.stderr
