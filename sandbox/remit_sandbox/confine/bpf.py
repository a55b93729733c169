"""A few words of classic BPF, enough to write a system call filter as a list of steps.

Source: Linux `Documentation/userspace-api/seccomp_filter.rst` and `include/uapi/linux/filter.h`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

Step = tuple[int, int, int, int]
"""One instruction: code, jump if true, jump if false, constant."""

ALLOW = 0x7FFF0000
KILL = 0x80000000

ARCH = 4
NUMBER = 0

_LOAD = 0x20
_JUMP = 0x05
_EQUAL = 0x15
_GREATER = 0x25
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_AND = 0x54
_RETURN = 0x06


def error(number: int) -> int:
    """The action that makes a call fail with errno `number`; 0 makes it succeed without effect."""
    return 0x00050000 | number


def load(offset: int) -> Step:
    """Load 32 bits of `struct seccomp_data`."""
    return (_LOAD, 0, 0, offset)


def low(argument: int) -> Step:
    """Load the low half of an argument (both machines are little-endian)."""
    return load(16 + 8 * argument)


def high(argument: int) -> Step:
    """Load the high half of an argument."""
    return load(20 + 8 * argument)


def keep_bits(mask: int) -> Step:
    """Keep these bits of what was loaded."""
    return (_AND, 0, 0, mask)


def give(action: int) -> Step:
    """End with `action`."""
    return (_RETURN, 0, 0, action)


def jump(count: int) -> Step:
    """Skip `count` steps."""
    return (_JUMP, 0, 0, count)


def if_equal(value: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when what was loaded equals `value`."""
    return [(_EQUAL, 0, len(steps), value & 0xFFFFFFFF), *steps]


def unless_equal(value: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when what was loaded does not equal `value`."""
    return [(_EQUAL, len(steps), 0, value & 0xFFFFFFFF), *steps]


def if_any_bit(mask: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when a bit of `mask` is set."""
    return [(_ANY_BIT, 0, len(steps), mask), *steps]


def unless_any_bit(mask: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when no bit of `mask` is set."""
    return [(_ANY_BIT, len(steps), 0, mask), *steps]


def if_at_least(value: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when what was loaded is `value` or more, unsigned."""
    return [(_AT_LEAST, 0, len(steps), value), *steps]


def unless_greater(value: int, steps: list[Step]) -> list[Step]:
    """Take `steps` when what was loaded is `value` or less, unsigned."""
    return [(_GREATER, len(steps), 0, value), *steps]


def assemble(steps: Iterable[Step]) -> bytes:
    """The program as the kernel takes it: an array of `struct sock_filter`."""
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
