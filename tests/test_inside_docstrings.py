"""Docstrings of every style: the prose without sections, and a line for each argument."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.inside.docstrings import read_docstring

GOOGLE = """Search the log.

    Use it for facts. Example: "colour: red" is fine.

    Second paragraph with a colon: still text.

    Args:
        query: What to find: may hold colons.
            Continued line.
        top (int, optional): How many.
        ruta (str) : ubicación, p. ej. "bahía: 2"

    Returns:
        Nothing: really.
    """

NUMPY = """Search the log.

    Parameters
    ----------
    query : str
        What to find: may hold colons.
        Continued line.
    top, skip : int, optional
        How many.

    Returns
    -------
    str
        secret

    Notes
    -----
    secret
    """

SPHINX = """Search the log.

    :param query: What to find: may hold colons.
        Continued line.
    :param int top: How many.
    :raises ValueError: secret
    :returns: secret
    :rtype: str
    """

EPYDOC = """Search the log.

    @param query: What to find: may hold colons.
    @param top: How many.
    @return: secret
    """


def test_google_keeps_every_paragraph_and_reads_arguments() -> None:
    found = read_docstring(GOOGLE)
    assert found.prose == (
        'Search the log.\n\nUse it for facts. Example: "colour: red" is fine.\n\n'
        "Second paragraph with a colon: still text."
    )
    assert found.arguments == {
        "query": "What to find: may hold colons. Continued line.",
        "top": "How many.",
        "ruta": 'ubicación, p. ej. "bahía: 2"',
    }


@pytest.mark.parametrize("text", [NUMPY, SPHINX, EPYDOC])
def test_other_styles(text: str) -> None:
    found = read_docstring(text)
    assert found.prose == "Search the log."
    assert found.arguments["query"].startswith("What to find: may hold colons.")
    assert found.arguments["top"] == "How many."
    assert "secret" not in found.prose + "".join(found.arguments.values())


def test_numpy_names_that_share_a_line() -> None:
    assert read_docstring(NUMPY).arguments["skip"] == "How many."


@pytest.mark.parametrize(
    "title", ["Raises", "Note", "Notes", "Example", "Examples", "Returns", "Yields", "Warning", "See Also", "Todo"]
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_no_section_leaks(title: str, place: str) -> None:
    section = f"{title}:\n    ticket 4711\n\n    more of /srv/keys\n"
    arguments = "Args:\n    x: even number\n"
    parts = [section, arguments] if place == "before" else [arguments, section]
    found = read_docstring("Halve a number.\n\n" + "\n".join(parts))
    assert found.prose == "Halve a number."
    assert found.arguments == {"x": "even number"}


def test_a_section_without_indent_ends_at_the_blank_line() -> None:
    found = read_docstring("Add.\n\nReturns:\nsecret\n\nStill prose.")
    assert found.prose == "Add.\n\nStill prose."


def test_prose_after_a_section_is_kept() -> None:
    assert read_docstring("Add.\n\nNote:\n    secret\n\nIt is exact.").prose == "Add.\n\nIt is exact."


@pytest.mark.parametrize(
    "text", [None, "", "   ", "Args:", "Args:\n    no colon at all", ":param", ":param :", "\udc80"]
)
def test_odd_docstrings_never_raise(text: str | None) -> None:
    assert isinstance(read_docstring(text).prose.encode(), bytes)


@given(st.text(st.sampled_from("abAR :\n-@()=\t") | st.characters(), max_size=200))
def test_any_text_never_raises(text: str) -> None:
    found = read_docstring("Args:\n    " + text)
    found.prose.encode()
    assert isinstance(read_docstring(text).prose, str)
