"""Errors in words that show neither folders of this machine nor secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remit_sandbox.inside import refusals
from remit_sandbox.inside.context import Context
from remit_sandbox.inside.wording import TRACEBACK, Wording


def raised(function: object) -> BaseException:
    try:
        function()  # type: ignore[operator]
    except BaseException as error:
        return error
    raise AssertionError("it did not raise")


def test_folders_are_named_by_their_role_and_only_whole() -> None:
    wording = Wording(places=[("/srv/site", "<site>"), ("/srv/site/own", "<pack>"), ("/usr", "<python>"), ("", "x")])
    text = wording.shorten("/srv/site/a /srv/site/own/b /srv/site2/c /usr/share/d /srv/site")
    assert text == "<site>/a <pack>/b /srv/site2/c /usr/share/d <site>"


def test_longer_secrets_are_masked_first_and_very_short_ones_not() -> None:
    wording = Wording(secrets={"a": "hunter", "b": "hunter22", "c": "x"})
    assert wording.mask("hunter22 hunter x") == "[secret b] [secret a] x"


def test_causes_are_told_first() -> None:
    def fail() -> None:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error

    lines = Wording().trace(raised(fail)).splitlines()
    assert lines[1] == "KeyError: 'inner'"
    assert lines[-1] == "ValueError: outer"


def test_a_long_traceback_keeps_its_end() -> None:
    def fail(depth: int = 300) -> None:
        if depth:
            fail(depth - 1)
        raise ValueError("the end")

    trace = Wording().trace(raised(fail))
    assert len(trace) <= TRACEBACK
    assert trace.endswith("ValueError: the end")


def test_only_the_packs_own_frames_are_kept() -> None:
    def fail() -> None:
        raise ValueError("no")

    error = raised(fail)
    assert Wording(folder="/somewhere/else").trace(error) == ""
    assert "in fail" in Wording(folder=__file__.rpartition("/")[0]).trace(error)


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert Wording().trace(first) == ""
    assert Wording().line(first) == "ValueError: 1"


def test_a_failure_says_when_a_skill_has_no_right_to_the_workspace(tmp_path: Path) -> None:
    def uses(ctx: Context) -> object:
        return ctx.workspace / "notes"  # type: ignore[operator]

    def fails(ctx: Context) -> object:
        return ctx.data / "notes"  # type: ignore[operator]

    def why(run: Callable[[Context], object], workspace: str | None) -> str:
        try:
            run(Context(workspace=workspace))
        except TypeError as error:
            return refusals.why(error)
        return "it worked"

    assert why(uses, None).startswith("this skill has no right to the workspace; add fs.read")
    assert why(uses, str(tmp_path)) == "it worked" and why(fails, None) == ""
