"""A machine that refuses some system calls, as a container's filter does: made with a filter of our own."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

from tests.sandbox_parts import plain_python

ROOT = Path(__file__).parents[1]

_PROGRAM = """
import json, sys
sys.path.insert(0, {root!r})
from remit_sandbox.confine import bpf, kernel, process, seccomp
from remit_sandbox.confine.numbers import NUMBERS
numbers = NUMBERS[kernel.MACHINE]
steps = [bpf.load(bpf.NUMBER)]
for number in {numbers}:
    steps += bpf.if_equal(number, [bpf.give(bpf.error(1))])
process.forbid_new_privileges()
seccomp.install(bpf.assemble([*steps, bpf.give(bpf.ALLOW)]))
from pathlib import Path
from remit_sandbox.probe import probe
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Rights
from tests.sandbox_parts import call, run, spec_of, value
pack = Path({pack!r})
"""


def without(pack: Path, numbers: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code where some system calls answer EPERM.

    Args:
        pack: folder of the pack that is `pack` there.
        numbers: of the calls, as an expression over `numbers`.
        code: sees `Sandbox`, `Rights`, `probe`, `run`, `call`, `spec_of`, `value`, `kernel`.
    """
    return plain_python(_PROGRAM.format(root=str(ROOT), pack=str(pack), numbers=numbers) + textwrap.dedent(code))
