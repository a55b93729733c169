"""Run a command on a kernel that seems to have no Landlock: `without_landlock.py COMMAND [ARGUMENT ...]`.

A seccomp filter answers ENOSYS to the three Landlock system calls (444 to 446, the same numbers on every
architecture), for this process and all that it starts. CI uses it to prove that the README's two commands
work on machines that cannot confine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2

LOAD_WORD, JUMP_IF_GREATER_OR_EQUAL, RETURN = 0x20, 0x35, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.ENOSYS

PROGRAM = (
    (LOAD_WORD, 0, 0, 0),
    (JUMP_IF_GREATER_OR_EQUAL, 0, 2, 444),
    (JUMP_IF_GREATER_OR_EQUAL, 1, 0, 447),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
)


class FilterProgram(ctypes.Structure):
    """`struct sock_fprog` of the kernel."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def hide_landlock() -> None:
    """Install the filter in this process; raises OSError when the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in PROGRAM))
    program = FilterProgram(len(PROGRAM), ctypes.cast(code, ctypes.c_void_p))
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    if libc.syscall(444, None, 0, 1) != -1 or ctypes.get_errno() != errno.ENOSYS:
        raise OSError("Landlock is still there")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    hide_landlock()
    os.execvp(sys.argv[1], sys.argv[1:])
