"""The system call filter, run by a small interpreter: so both machines are tested on either."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.confine import policy
from remit_sandbox.confine.bpf import ALLOW, KILL, error
from remit_sandbox.confine.filters import filter_program
from remit_sandbox.confine.numbers import AUDIT_ARCH, NUMBERS

PID = 4321
MACHINES = ("x86_64", "aarch64")


def judge(
    machine: str, name: str | int, *arguments: int, children: bool = False, abi: int = 7, arch: int | None = None
) -> int:
    """What the filter says to a call: the kernel's own reading of the program."""
    program = filter_program(machine, children=children, abi=abi, pid=PID)
    number = NUMBERS[machine][name] if isinstance(name, str) else name
    padded = [argument & (2**64 - 1) for argument in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("=IIQ6Q", number, AUDIT_ARCH[machine] if arch is None else arch, 0, *padded)
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = struct.unpack_from("=HBBI", program, 8 * at)
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, constant)[0]
        elif code == 0x54:
            accumulator &= constant
        elif code == 0x06:
            return int(constant)
        elif code == 0x05:
            at += constant
        else:
            holds = {
                0x15: accumulator == constant,
                0x25: accumulator > constant,
                0x35: accumulator >= constant,
                0x45: bool(accumulator & constant),
            }[code]
            at += if_true if holds else if_false


REFUSED = error(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("abi", [0, 1, 3, 6, 7])
@pytest.mark.parametrize("children", [False, True])
def test_every_known_call_gets_its_outcome(machine: str, abi: int, children: bool) -> None:
    expected = dict.fromkeys(policy.ALLOWED, ALLOW)
    expected |= dict.fromkeys(policy.REFUSED, REFUSED)
    expected |= dict.fromkeys(policy.PRETENDED, error(0))
    expected |= dict.fromkeys(policy.UNSUPPORTED, error(errno.ENOTSUP))
    expected |= dict.fromkeys(policy.CHILDREN, ALLOW if children else REFUSED)
    for name in NUMBERS[machine]:
        if name in expected:
            assert judge(machine, name, children=children, abi=abi) == expected[name], name


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 2**31 - 1))
def test_unknown_calls_answer_that_there_is_no_such_call(machine: str, number: int) -> None:
    if number not in NUMBERS[machine].values():
        assert judge(machine, number) == error(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_cannot_be_filtered_do_not_exist(machine: str) -> None:
    clone3, openat2, io_uring_setup = 435, 437, 425
    for number in (clone3, openat2, io_uring_setup, 999):
        assert judge(machine, number) == error(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_call_convention_is_fatal(machine: str) -> None:
    assert judge(machine, "getpid", arch=0x40000003) == KILL
    assert judge(machine, "getpid") == ALLOW


def test_the_x32_convention_does_not_exist() -> None:
    assert judge("x86_64", 0x40000000 | NUMBERS["x86_64"]["getpid"]) == error(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_start_and_children_only_where_granted(machine: str) -> None:
    thread, fork, new_user, new_network = 0x3D0F00, 17, 0x10000000 | 17, 0x40000000 | 17
    assert judge(machine, "clone", thread) == ALLOW
    assert judge(machine, "clone", fork) == REFUSED
    assert judge(machine, "clone", fork, children=True) == ALLOW
    for flags in (new_user, new_network, 0x20000 | 17, 0x8000 | 17):
        assert judge(machine, "clone", flags, children=True) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_the_only_sockets_are_pairs_of_unix_streams(machine: str) -> None:
    stream, datagram, flags = 1, 2, 0o2004000
    assert judge(machine, "socketpair", 1, stream) == ALLOW
    assert judge(machine, "socketpair", 1, stream | flags) == ALLOW
    assert judge(machine, "socketpair", 1, datagram) == REFUSED
    assert judge(machine, "socketpair", 1, 5) == REFUSED
    assert judge(machine, "socketpair", 2, stream) == REFUSED
    for family in (1, 2, 10, 16, 17, 38, 40):
        assert judge(machine, "socket", family, stream) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_sending_never_connects(machine: str) -> None:
    fast_open = 0x20000000
    assert judge(machine, "sendto", 3, 4096, 5, 0, 0, 0) == ALLOW
    assert judge(machine, "sendto", 3, 4096, 5, fast_open, 0, 0) == REFUSED
    assert judge(machine, "sendto", 3, 4096, 5, 0, 4096, 16) == REFUSED
    assert judge(machine, "sendto", 3, 4096, 5, 0, 1 << 40, 16) == REFUSED
    for name, position in (("sendmsg", 2), ("sendmmsg", 3)):
        assert judge(machine, name, *[0] * position, 0) == ALLOW
        assert judge(machine, name, *[0] * position, fast_open | 0x4000) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_no_file_gets_a_set_id_bit(machine: str) -> None:
    create, at = 0o101, -100
    assert judge(machine, "openat", at, 4096, create, 0o755) == ALLOW
    assert judge(machine, "openat", at, 4096, create, 0o4755) == REFUSED
    assert judge(machine, "openat", at, 4096, 0o20200002, 0o2755) == REFUSED
    assert judge(machine, "openat", at, 4096, 0, 0o4755) == ALLOW
    assert judge(machine, "mknodat", at, 4096, 0o104755) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_an_old_landlock_is_helped_with_truncation(machine: str) -> None:
    read, write, both, strange, truncate = 0, 1, 2, 3, 0o1000
    for abi, expected in ((1, REFUSED), (2, REFUSED), (3, ALLOW), (7, ALLOW)):
        assert judge(machine, "truncate", 4096, 0, abi=abi) == expected
        for mode in (read, strange):
            assert judge(machine, "openat", -100, 4096, mode | truncate, abi=abi) == expected
        for mode in (write, both):
            assert judge(machine, "openat", -100, 4096, mode | truncate, abi=abi) == ALLOW
        assert judge(machine, "openat", -100, 4096, read, abi=abi) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_an_old_landlock_is_helped_with_signals(machine: str) -> None:
    for abi in (0, 5):
        for target in (PID, 0, -PID):
            assert judge(machine, "kill", target, 9, abi=abi) == ALLOW
        for target in (1, -1, PID + 1, -PID - 1):
            assert judge(machine, "kill", target, 9, abi=abi) == REFUSED
        assert judge(machine, "tgkill", PID, 77, 9, abi=abi) == ALLOW
        assert judge(machine, "tgkill", 1, 77, 9, abi=abi) == REFUSED
        assert judge(machine, "tkill", 77, 9, abi=abi) == REFUSED
    assert judge(machine, "kill", 1, 9, abi=6) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_cell_itself_is_limited_and_scheduled(machine: str) -> None:
    for name in ("prlimit64", "sched_setaffinity"):
        assert judge(machine, name, 0) == ALLOW
        assert judge(machine, name, 1) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_flags_and_signals_of_others_stay_out_of_reach(machine: str) -> None:
    assert judge(machine, "ioctl", 0, 0x5401) == ALLOW
    for request in (0x5412, 0x541C, 0x40086602, 0x8901):
        assert judge(machine, "ioctl", 0, request) == error(errno.ENOTTY)
    assert judge(machine, "ioctl", 0, 0x5412 | 1 << 32) == error(errno.ENOTTY)
    assert judge(machine, "fcntl", 0, 1) == ALLOW
    for command in policy.FCNTLS_REFUSED:
        assert judge(machine, "fcntl", 0, command) == REFUSED
    assert judge(machine, "prctl", 15) == ALLOW
    assert judge(machine, "prctl", 1, 0) == REFUSED
    assert judge(machine, "personality", 0xFFFFFFFF) == ALLOW
    assert judge(machine, "personality", 0x0040000) == REFUSED
    assert judge(machine, "setsockopt", 3, 6, 1) == ALLOW
    assert judge(machine, "setsockopt", 3, 6, 31) == REFUSED
    assert judge(machine, "setsockopt", 3, 1, 26) == REFUSED
    assert judge(machine, "setsockopt", 3, 1, 9) == ALLOW


def test_no_call_stands_in_two_lists() -> None:
    lists = (policy.ALLOWED, policy.PRETENDED, policy.UNSUPPORTED, policy.REFUSED, policy.CHILDREN, policy.INSPECTED)
    names = [name for each in lists for name in each]
    assert len(names) == len(set(names))
    assert set(names) == set(NUMBERS["x86_64"])
    assert set(NUMBERS["aarch64"]) < set(names)


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    """The generic table is that of aarch64; headers of a distribution may be older than the list."""
    texts = [Path(path).read_text("utf-8") for path in HEADERS[machine] if Path(path).exists()]
    if not texts:
        pytest.skip("the kernel's headers are not installed")
    found = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", texts[0])}
    known = {name: number for name, number in NUMBERS[machine].items() if name in found}
    assert len(known) > 200
    assert known == {name: found[name] for name in known}


def test_the_other_machine_lacks_only_what_was_never_there() -> None:
    """Calls that newer machines never got, each with a modern twin that is filtered; and four of the x86 alone."""
    of_x86 = {"arch_prctl", "iopl", "ioperm", "modify_ldt"}
    twins = {
        "access": "faccessat", "alarm": "setitimer", "chmod": "fchmodat", "chown": "fchownat", "creat": "openat",
        "dup2": "dup3", "epoll_create": "epoll_create1", "epoll_wait": "epoll_pwait", "eventfd": "eventfd2",
        "fork": "clone", "vfork": "clone", "futimesat": "utimensat", "getdents": "getdents64", "getpgrp": "getpgid",
        "inotify_init": "inotify_init1", "lchown": "fchownat", "link": "linkat", "lstat": "newfstatat",
        "mkdir": "mkdirat", "mknod": "mknodat", "open": "openat", "pause": "rt_sigsuspend", "pipe": "pipe2",
        "poll": "ppoll", "readlink": "readlinkat", "rename": "renameat2", "rmdir": "unlinkat", "select": "pselect6",
        "signalfd": "signalfd4", "stat": "newfstatat", "symlink": "symlinkat", "time": "clock_gettime",
        "unlink": "unlinkat", "utime": "utimensat", "utimes": "utimensat",
    }  # fmt: skip
    assert set(NUMBERS["x86_64"]) - set(NUMBERS["aarch64"]) == of_x86 | set(twins)
    assert set(twins.values()) <= set(NUMBERS["aarch64"])
