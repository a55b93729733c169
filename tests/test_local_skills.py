"""Functions of the embedding program as skills."""

from __future__ import annotations

from typing import Any

import pytest

from remit.errors import UsageError
from remit.local_skills import local_skill, skill


@skill(effect="read", impact=["privacy"], timeout=2, examples=[{"question": "q", "arguments": {"item": "a"}}])
def stock(item: str, site: int = 1) -> int:
    """How many of an item there are.

    Args:
        item: its name.
    """
    return len(item) + site


def plain(x: float) -> float:
    return x


def test_a_marked_function_is_a_skill_and_stays_a_function() -> None:
    assert stock("abc") == 4
    found = local_skill(stock)
    assert (found.full, found.effect, found.impact, found.timeout) == ("local.stock", "read", {"privacy"}, 2)
    assert found.description == "How many of an item there are."
    assert found.schema["required"] == ["item"]
    assert found.schema["properties"]["item"]["description"] == "its name."
    assert (found.confined, found.cell, found.function) == (False, None, stock)


def test_a_plain_function_asks() -> None:
    assert local_skill(plain).effect == "external"


def test_bare_decorator_and_another_name() -> None:
    @skill
    def one() -> None: ...

    @skill(name="other")
    def two() -> None: ...

    assert [local_skill(f).name for f in (one, two)] == ["one", "other"]


def test_what_cannot_be_a_skill() -> None:
    with pytest.raises(UsageError, match="no name for a skill"):
        local_skill(lambda x: x)
    with pytest.raises(UsageError, match="unknown effect"):
        skill(effect="look")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="unknown impact"):
        skill(impact=["boom"])  # type: ignore[list-item]

    def variadic(*many: Any) -> None: ...

    with pytest.raises(UsageError, match="variadic cannot be a skill"):
        local_skill(variadic)
