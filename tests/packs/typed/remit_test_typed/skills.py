"""Arguments and results of every kind. The docstrings are in the three styles that are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

from pydantic import BaseModel, Field


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Address:
    street: str
    floor: int = 0
    tags: list[str] = field(default_factory=list)


class Person(BaseModel):
    """Somebody.

    Attributes:
        name: first and last name.
    """

    name: str = Field(min_length=1, description="first and last name")
    born: date | None = None
    home: Address | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


class Point(NamedTuple):
    x: float
    y: float = 0.0


ORIGIN = Point(0.0)


class Options(TypedDict, total=False):
    colour: Colour
    deep: bool


def models(
    person: Person,
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    others: list[Person] | None = None,
) -> Person:
    """Take models, nested and by kind. Use it to test models.

    Args:
        person: somebody.
        pet: a cat or a dog.
        others: more people.

    Returns:
        The person again, one year older.
    """
    assert isinstance(person, Person) and isinstance(pet, Cat | Dog)
    assert all(isinstance(other, Person) for other in others or ())
    return person.model_copy(update={"home": Address(street=pet.kind, tags=[other.name for other in others or ()])})


def plain(
    colour: Colour,
    size: Size = Size.SMALL,
    mode: Literal["fast", "slow", 3] = "fast",
    point: Point = ORIGIN,
    options: Options | None = None,
    count: Annotated[int, Field(ge=1, le=9)] = 1,
    ratio: int | float | str = 0.5,
    pairs: dict[str, list[int]] | None = None,
) -> dict[str, Any]:
    """Take enums, literals, tuples, typed dicts and unions. Use it to test them.

    Parameters
    ----------
    colour : Colour
        of the thing.
    size : Size, optional
        how large it is.
    mode : str
        fast, slow or 3.
    point : Point
        where it is.
    options : dict, optional
        more about it.
    count : int
        how many.
    ratio : int, float or str
        anything.
    pairs : dict
        lists by name.

    Returns
    -------
    dict
        What was understood.
    """
    assert type(colour) is Colour and type(size) is Size and type(point) is Point
    return {"colour": colour, "size": size, "mode": mode, "point": point, "options": options, "count": count,
            "ratio": ratio, "pairs": pairs}  # fmt: skip


async def times(
    day: date, moment: datetime | None = None, wait: timedelta = timedelta(0), price: Decimal = Decimal("1.10"),
    ident: UUID | None = None, data: bytes = b"",
) -> dict[str, Any]:  # fmt: skip
    """Take dates and numbers that JSON lacks. Use it to test them.

    :param day: a day.
    :param moment: a moment.
    :param wait: how long.
    :param price: exact.
    :param ident: an identifier.
    :param data: some bytes.
    :returns: what was understood.
    """
    await asyncio.sleep(wait.total_seconds())
    assert type(day) is date and isinstance(price, Decimal)
    return {"day": day, "next": day + timedelta(days=1), "moment": moment, "wait": wait, "price": price, "ident": ident,
            "data": len(data)}  # fmt: skip


def steps(count: int = 2) -> Iterator[str]:
    """Count up. Use it to test progress.

    Args:
        count: how far.

    Returns:
        How far it came.
    """
    for number in range(count):
        yield f"step {number + 1}"
    return count  # type: ignore[return-value]


async def later(count: int = 2) -> AsyncIterator[Any]:
    """Count up without blocking. Use it to test progress.

    Args:
        count: how far.

    Returns:
        How far it came.
    """
    for number in range(count):
        yield f"step {number + 1}"
        await asyncio.sleep(0)
    yield {"count": count}


def picture() -> bytes:
    """Draw one pixel. Use it to test bytes.

    Returns:
        A picture.
    """
    return b"\x89PNG\r\n\x1a\n" + b"\x00" * 8


def report(ctx, rows: int = 2) -> dict[str, Any]:
    """Write a table. Use it to test files.

    Args:
        rows: how many.

    Returns:
        The table as a file, and as a document.
    """
    path = ctx.tmp / "table.xlsx"
    path.write_bytes(b"PK\x03\x04" + bytes(rows))
    return {"table": ctx.file(path), "document": ctx.file(b"%PDF-1.7", media_type="application/pdf"), "rows": rows}
