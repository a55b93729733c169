"""The seccomp filter of a cell, made once per isolation and reused for every cell."""

from __future__ import annotations

import errno
import struct
from functools import cache

from remit_sandbox.confine import bpf, policy
from remit_sandbox.confine.bpf import ALLOW, Step, give, low
from remit_sandbox.confine.numbers import AUDIT_ARCH, NUMBERS

_REFUSE = give(bpf.error(policy.REFUSAL))
_ALLOW = give(ALLOW)

# Stand for the cell's own process id where Landlock cannot hold signals; replaced per cell.
_OWN = 0x7B5EC0DE
_OWN_GROUP = 0x7A5EC0DF

_CLONE_THREAD = 0x00010000
_CLONE_PARENT = 0x00008000
_CLONE_NAMESPACES = 0x7E020000
_MSG_FASTOPEN = 0x20000000
_SOCK_FLAGS = 0o2004000
_O_CREATES = 0x00400040
_O_TRUNC = 0x200
_SET_ID_BITS = 0o6000
_X32 = 0x40000000


@cache
def _template(machine: str, children: bool, abi: int) -> bytes:
    numbers = NUMBERS[machine]
    plain = _plain_actions(children)
    inspected = _inspections(children, abi)
    by_number: dict[int, list[Step]] = {}
    for name, number in numbers.items():
        by_number[number] = inspected[name] if name in inspected else [give(plain[name])]
    steps = [bpf.load(bpf.ARCH), *bpf.unless_equal(AUDIT_ARCH[machine], [give(bpf.KILL)]), bpf.load(bpf.NUMBER)]
    if machine == "x86_64":
        steps += bpf.if_at_least(_X32, [give(bpf.error(errno.ENOSYS))])
    return bpf.assemble(steps + _dispatch(by_number))


def filter_program(machine: str, *, children: bool, abi: int, pid: int) -> bytes:
    """The filter for one cell.

    Args:
        machine: `x86_64` or `aarch64`.
        children: whether the cell may fork and exec (`process` isolation).
        abi: the Landlock ABI in force, 0 for none: older ones leave gaps that the filter closes.
        pid: process id of the cell, to which it may send signals when Landlock cannot hold them.

    Raises:
        KeyError: for another machine.
    """
    program = _template(machine, children, abi)
    if abi >= 6:
        return program
    own, group = struct.pack("=I", pid), struct.pack("=i", -pid)
    return program.replace(struct.pack("=I", _OWN), own).replace(struct.pack("=I", _OWN_GROUP), group)


def _plain_actions(children: bool) -> dict[str, int]:
    actions = dict.fromkeys(policy.ALLOWED, ALLOW)
    actions |= dict.fromkeys(policy.PRETENDED, bpf.error(0))
    actions |= dict.fromkeys(policy.UNSUPPORTED, bpf.error(errno.ENOTSUP))
    actions |= dict.fromkeys(policy.REFUSED, bpf.error(policy.REFUSAL))
    return actions | dict.fromkeys(policy.CHILDREN, ALLOW if children else bpf.error(policy.REFUSAL))


def _dispatch(by_number: dict[int, list[Step]]) -> list[Step]:
    """From the number in the accumulator to its steps.

    Runs of neighbours with one outcome share a comparison. The kernel evaluates calls whose outcome
    does not depend on arguments once, when the filter is installed, so a linear search costs nothing.
    """
    missing = [give(bpf.error(errno.ENOSYS))]
    runs: list[tuple[int, list[Step]]] = []
    for number in range(max(by_number) + 1):
        steps = by_number.get(number, missing)
        if runs and runs[-1][1] == steps:
            runs.pop()
        runs.append((number, steps))
    table: list[Step] = []
    blocks: list[Step] = []
    size = 2 * len(runs) + 1
    for last, steps in runs:
        if len(steps) == 1:
            table += bpf.unless_greater(last, steps)
        else:
            table += bpf.unless_greater(last, [bpf.jump(size - len(table) - 2 + len(blocks))])
            blocks += steps
    return table + missing + blocks


def _inspections(children: bool, abi: int) -> dict[str, list[Step]]:
    return {
        "clone": _clone(children),
        "socketpair": [
            low(0),
            *bpf.unless_equal(1, [_REFUSE]),  # AF_UNIX
            low(1),
            bpf.keep_bits(0xFFFFFFFF & ~_SOCK_FLAGS),
            *bpf.unless_equal(1, [_REFUSE]),  # SOCK_STREAM
            _ALLOW,
        ],
        "sendto": [*_no_fast_open(3), low(4), *_refuse_unless(0), bpf.high(4), *_refuse_unless(0), _ALLOW],
        "sendmsg": [*_no_fast_open(2), _ALLOW],
        "sendmmsg": [*_no_fast_open(3), _ALLOW],
        "setsockopt": _socket_options(),
        "ioctl": [low(1), *_only(policy.IOCTLS), give(bpf.error(errno.ENOTTY))],
        "fcntl": [low(1), *_never(policy.FCNTLS_REFUSED), _ALLOW],
        "prctl": [low(0), *_only(policy.PRCTLS), _REFUSE],
        "personality": [low(0), *_only((0xFFFFFFFF,)), _REFUSE],
        "prlimit64": [low(0), *_refuse_unless(0), _ALLOW],
        "sched_setaffinity": [low(0), *_refuse_unless(0), _ALLOW],
        "open": _open(1, abi),
        "openat": _open(2, abi),
        "creat": _no_set_id(1),
        "mknod": _no_set_id(1),
        "mknodat": _no_set_id(2),
        "truncate": [_ALLOW if abi >= 3 else _REFUSE],
        **_signals(abi),
    }


def _only(values: tuple[int, ...]) -> list[Step]:
    return [step for value in values for step in bpf.if_equal(value, [_ALLOW])]


def _never(values: tuple[int, ...]) -> list[Step]:
    return [step for value in values for step in bpf.if_equal(value, [_REFUSE])]


def _refuse_unless(value: int) -> list[Step]:
    return bpf.unless_equal(value, [_REFUSE])


def _clone(children: bool) -> list[Step]:
    steps = [low(0), *bpf.if_any_bit(_CLONE_NAMESPACES, [_REFUSE]), *bpf.if_any_bit(_CLONE_THREAD, [_ALLOW])]
    if not children:
        return [*steps, _REFUSE]
    return [*steps, *bpf.if_any_bit(_CLONE_PARENT, [_REFUSE]), _ALLOW]


def _no_fast_open(flags: int) -> list[Step]:
    """TCP Fast Open connects while it sends, past Landlock's rule on connect."""
    return [low(flags), *bpf.if_any_bit(_MSG_FASTOPEN, [_REFUSE])]


def _socket_options() -> list[Step]:
    tcp = [low(2), *_never((19, 31)), _ALLOW]  # TCP_REPAIR, TCP_ULP
    plain = [low(2), *_never((25, 26, 50, 51, 52)), _ALLOW]  # SO_BINDTODEVICE, SO_ATTACH_*
    return [low(1), *bpf.if_equal(6, tcp), *bpf.if_equal(1, plain), _ALLOW]


def _no_set_id(mode: int) -> list[Step]:
    return [low(mode), *bpf.if_any_bit(_SET_ID_BITS, [_REFUSE]), _ALLOW]


def _open(flags: int, abi: int) -> list[Step]:
    steps = [low(flags), *bpf.unless_any_bit(_O_CREATES, [_ALLOW]), *_no_set_id(flags + 1)]
    if abi >= 3:
        return steps
    # Landlock before ABI 3 does not see that a read-only open truncates.
    truncating = [bpf.keep_bits(3), *_only_continue((1, 2))]
    return [low(flags), *bpf.if_any_bit(_O_TRUNC, truncating), *steps]


def _only_continue(values: tuple[int, int]) -> list[Step]:
    """Refuse unless what was loaded is one of two values, else go on."""
    first, second = values
    return bpf.unless_equal(first, bpf.unless_equal(second, [_REFUSE]))


def _signals(abi: int) -> dict[str, list[Step]]:
    if abi >= 6:
        return {"kill": [_ALLOW], "tgkill": [_ALLOW], "tkill": [_ALLOW]}
    own = [low(0), *_only((_OWN,)), _REFUSE]
    return {"kill": [low(0), *_only((0, _OWN, _OWN_GROUP)), _REFUSE], "tgkill": own, "tkill": [_REFUSE]}
