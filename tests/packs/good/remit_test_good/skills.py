"""Plain typed functions as skills; none of them imports Remit."""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal


class Colour(enum.Enum):
    """A colour of the shop."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Item:
    """One line of an order."""

    sku: str
    price: Decimal
    quantity: int = 1
    colour: Colour | None = None


@dataclass(frozen=True)
class Total:
    """What an order comes to."""

    amount: Decimal
    items: int
    due: date


def add(a: float, b: float = 0) -> float:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


def greet(name: str, ctx: Context) -> str:  # noqa: F821
    """Greet somebody in the words of the deployment.

    Args:
        name: whom to greet
    """
    return f"{ctx.settings['greeting']}, {name}"


def order(items: list[Item], due: date, speed: Literal["slow", "fast", 3] = "slow") -> Total:
    """Add an order up.

    The total counts every item with its quantity.

    Args:
        items: the lines of the order
        due: when it is due, for instance 2026-01-31
        speed: how fast it must be

    Returns:
        The total: amount, number of items, date.
    """
    amount = sum((item.price * item.quantity for item in items), Decimal(0))
    return Total(amount=amount, items=sum(item.quantity for item in items), due=due)


def round_total(call: Any, result: dict[str, Any]) -> dict[str, Any] | None:
    """Add what was asked for to the result; a post-hook."""
    return {**result, "speed": call.arguments.get("speed", "slow")}


def read(path: Path) -> str:
    """Read a text file of the workspace.

    Args:
        path: the file, relative to the workspace
    """
    return path.read_text()


def save(path: Path, text: str, ctx) -> int:
    """Write a text file below `out` in the workspace.

    Args:
        path: the file, relative to `out`
        text: what to write
    """
    target = Path("out") / path
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.write_text(text)


def wipe(path: Path) -> str:
    """Delete a file below `out` in the workspace.

    Args:
        path: the file, relative to `out`
    """
    (Path("out") / path).unlink()
    return f"deleted {path}"


def steps(count: int) -> Generator[str, None, int]:
    """Report progress, then return how many steps there were.

    Args:
        count: how many steps
    """
    for number in range(count):
        yield f"step {number + 1}"
    return count


def chain(first: int, ctx) -> str:
    """Ask for two more calls.

    Args:
        first: the first number
    """
    ctx.progress("asking")
    ctx.follow_up("good.add", a=first, b=1)
    ctx.follow_up("good.add", a=first, b=2)
    return "asked"


def kinds() -> dict[str, Any]:
    """Return values of many kinds."""
    return {
        "time": datetime(2024, 1, 2, 3, 4, tzinfo=UTC),
        "money": Decimal("1.10"),
        "colour": Colour.RED,
        "item": Item("a", Decimal(2)),
        "set": {3, 1, 2},
        "path": Path("a/b"),
        "none": None,
        "huge": 2**70,
        7: "a number as a key",
    }


def large(characters: int) -> str:
    """Return a long text.

    Args:
        characters: how long
    """
    return "ä" * characters + "TAIL"


def picture() -> bytes:
    """Return a small picture."""
    return b"\x89PNG\r\n\x1a\n" + bytes(20)


def breaks(message: str = "it broke") -> None:
    """Raise an error.

    Args:
        message: what the error says
    """
    raise ValueError(message)
