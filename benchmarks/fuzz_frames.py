"""Random frames against the host's end of the protocol: `python -m benchmarks.fuzz_frames [--frames 1000000]`.

Whatever a cell sends must end as a message of the known form or as a `ProtocolError`; anything else is a finding,
printed with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

from remit_sandbox.errors import ProtocolError
from remit_sandbox.frames import HEADER, Exchange, FrameReader
from remit_sandbox.replies import described_of, reply_of

LIMIT = 1 << 20
_NUMBER = 77
_KEYS = ("op", "id", "text", "follow_ups", "errors", "error", "traceback", "skills", "denied", "observed", "x")
_OPS = ("result", "invalid", "failed", "converted", "described", "progress", "ready", "")


def random_frame(chance: random.Random) -> bytes:
    """A frame: rubbish, a well-formed one with random values, or one with a few bytes changed."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(chance.randrange(40))
    body = bytearray(msgpack.packb(_message(chance), use_bin_type=True))
    if kind == 1:
        for _ in range(chance.randrange(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
    length = len(body) if kind < 3 else chance.choice((0, 1, len(body) - 1, len(body) + 1, 1 << 30, (1 << 32) - 1))
    return length.to_bytes(HEADER, "big") + body


def _message(chance: random.Random) -> Any:
    known: dict[Any, Any] = {"op": chance.choice(_OPS), "id": chance.choice((_NUMBER,) * 9 + (0, True, "77", None))}
    more: dict[Any, Any] = {chance.choice(_KEYS): _value(chance, 3) for _ in range(chance.randrange(5))}
    return {**known, **more} if chance.random() < 0.9 else chance.choice(({**known, 3: 3}, _value(chance, 3)))


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(9 if depth else 7)
    if kind == 7:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 8:
        return {chance.choice(_KEYS): _value(chance, depth - 1) for _ in range(chance.randrange(4))}
    return (None, True, chance.randrange(-(1 << 63), 1 << 64), chance.random(), chance.randbytes(chance.randrange(9)),
            chr(chance.randrange(1, 0xD000)) * chance.randrange(9), float("nan"))[kind]  # fmt: skip


def outcome(frame: bytes, chance: random.Random) -> str:
    """Feed one frame, in pieces of any size, to an exchange, and read its answer in both ways."""
    exchange = Exchange(FrameReader(LIMIT), {"op": "call"}, _NUMBER)
    at, answer = 0, None
    try:
        while at < len(frame) and answer is None:
            size = chance.choice((1, 3, 64, len(frame)))
            answer = exchange.feed(frame[at : at + size])
            at += size
        if answer is None:
            return "waits for more"
    except ProtocolError:
        return "refused"
    return _read(answer)


def _read(answer: dict[str, Any]) -> str:
    readers: Sequence[Callable[[], Any]] = (lambda: reply_of(answer, 0.0), lambda: described_of(answer))
    for read in readers:
        try:
            read()
        except ProtocolError:
            continue
        return "taken"
    return "refused as an answer"


def fuzz(frames: int, seed: int) -> Counter[str]:
    """Try that many random frames; count how they ended.

    Raises:
        AssertionError: one ended in anything but a message or a `ProtocolError`; the message has its seed.
    """
    counted: Counter[str] = Counter()
    for number in range(seed, seed + frames):
        chance = random.Random(number)
        try:
            counted[outcome(random_frame(chance), chance)] += 1
        except Exception as error:
            raise AssertionError(f"frame {number}: {type(error).__name__}: {error}") from error
    return counted


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz and print how the frames ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first frame; each has its own")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    for end, count in fuzz(options.frames, options.seed).most_common():
        print(f"{count:>9} {end}")
    print(f"{time.perf_counter() - started:9.1f} seconds, none ended otherwise")


if __name__ == "__main__":
    main()
