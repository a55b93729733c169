"""Coroutines and async generators as handlers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any


async def double(number: int) -> int:
    """Double a number, after a turn of the event loop."""
    await asyncio.sleep(0)
    return 2 * number


async def together(numbers: list[int]) -> list[int]:
    """Double many numbers at the same time."""
    return list(await asyncio.gather(*(double(number) for number in numbers)))


async def count(upto: int) -> AsyncIterator[Any]:
    """Count, reporting each number; the result is the sum.

    Args:
        upto: the last number
    """
    for number in range(1, upto + 1):
        await asyncio.sleep(0)
        yield f"at {number}"
    yield sum(range(1, upto + 1))


async def fail(message: str) -> None:
    """Raise."""
    await asyncio.sleep(0)
    raise ValueError(message)


async def forever() -> None:
    """Never return."""
    await asyncio.Event().wait()
