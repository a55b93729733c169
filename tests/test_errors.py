"""Errors say what happened and what to do; the tree at the top of each file is the tree."""

from __future__ import annotations

import inspect

import pytest

from remit import errors
from remit.errors import NotTrusted, PackError, RemitError, UnknownPack, UsageError


def test_as_text_an_error_carries_its_remedy() -> None:
    error = UsageError("no model is named", remedy="--model NAME")
    assert str(error) == "no model is named (next: --model NAME)"
    assert (error.message, error.remedy) == ("no model is named", "--model NAME")
    assert str(UsageError("no model is named")) == "no model is named"


def test_every_error_stands_in_the_tree_under_its_parent() -> None:
    tree = (errors.__doc__ or "").splitlines()
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, RemitError)]
    assert len(classes) > 15
    for kind in classes:
        assert any(kind.__name__ in line for line in tree), kind


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RemitError("x"), 1),
        (UsageError("x"), 2),
        (PackError("x"), 1),
        (UnknownPack("x"), 2),
        (NotTrusted("x"), 1),
        (NotTrusted("x", exit_code=4), 4),
    ],
)
def test_exit_codes(error: RemitError, code: int) -> None:
    assert error.exit_code == code
