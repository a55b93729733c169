"""`remit log replay`: a session as a person would read it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from remit.cli import screen
from remit.cli.log_filters import session_of
from remit.cli.log_rows import as_json, at, line
from remit.cli.log_steps import steps_of
from remit.cli.opening import add_action, add_folder, add_json
from remit.errors import UsageError

LONGEST = 600
"""Characters of a line that are shown without `--full`."""

INDENT = 10
"""Columns before what a step says."""


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "replay",
        "show a session as it went: question, turns, calls, sign-offs, answer",
        "remit log replay 1f3a\nremit log replay 1f3a --full\nremit log replay 1f3a --json",
    )
    parser.add_argument("session", help="its id; the beginning will do")
    parser.add_argument("--full", action="store_true", help="whole texts, not their first lines")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=replay)


def replay(options: argparse.Namespace) -> int:
    """Print the steps of a session in their order."""
    from remit.cli.log import opened_state
    from remit.state.reading import Wanted, read

    with opened_state(options.folder) as state:
        session = session_of(state, options.session)
        steps = steps_of(list(read(state.database, Wanted(session=session)))) if session else []
    if not steps:
        raise UsageError(f"there is no session {session!r} in the log", remedy="remit log list")
    if options.json:
        screen.say_json({"session": session, "steps": steps})
    else:
        _Page(full=options.full).show(session, steps)
    return 0


class _Page:
    """Prints steps; on a terminal as wide as it is, elsewhere as it comes."""

    def __init__(self, *, full: bool) -> None:
        self._full = full
        self._told = ""

    def show(self, session: str, steps: Sequence[Mapping[str, Any]]) -> None:
        first = steps[0]
        who = next((step["who"] for step in steps if step.get("who")), "")
        heading = f"session {session}  {at(first['time']):%Y-%m-%d}" + (f"  for {who}" if who else "")
        screen.say(screen.styled(screen.hanging(line(heading)), "bold"))
        for step in steps:
            getattr(self, f"_{step['kind']}")(step)

    def _head(self, step: Mapping[str, Any], text: str) -> None:
        when = f"{at(step['time']):%H:%M:%S}  "
        shown = screen.hanging(line(text), start=when, indent=INDENT)
        screen.say(when + screen.styled(shown.removeprefix(when), "bold"))

    def _say(self, text: object, *, lines: int = 6) -> None:
        written = screen.visible(text if isinstance(text, str) else as_json(text))
        shown = written.split("\n")
        if not self._full and len(shown) > lines:
            more = len(shown) - lines
            shown = [*shown[:lines], f"({more} more {'line' if more == 1 else 'lines'}: --full)"]
        if not self._full:
            shown = [_short(one) for one in shown]
        screen.say(screen.hanging("\n".join(shown), start=" " * INDENT, indent=INDENT))

    def _gone(self, step: Mapping[str, Any]) -> None:
        if step.get("erased"):
            screen.say(" " * INDENT + screen.styled(f"[{step['erased']}]", "yellow"))

    def _question(self, step: Mapping[str, Any]) -> None:
        self._head(step, "question")
        self._say(step.get("question", ""))
        self._gone(step)

    def _turn(self, step: Mapping[str, Any]) -> None:
        tokens = ""
        if "input_tokens" in step or "output_tokens" in step:
            cached = f" ({step['cached_tokens']} cached)" if step.get("cached_tokens") else ""
            tokens = f"  {step.get('input_tokens', '?')}{cached} + {step.get('output_tokens', '?')} tokens"
        took = f"  {step['duration']:.2f} s" if step.get("duration") is not None else ""
        self._head(step, f"turn {step.get('step', '?')} of {step.get('model', '?')}{took}{tokens}")
        self._told = str(step.get("text", ""))
        if self._told:
            self._say(self._told)
        for error in step.get("errors", ()):
            self._say(f"could not be read: {error}")
        if step.get("failed") or step.get("error"):
            self._say(f"failed: {step.get('error', '')}")
        self._gone(step)

    def _call(self, step: Mapping[str, Any]) -> None:
        by = {"person": " by a person", "pack": f" by the pack, after {step.get('parent')}"}.get(
            step.get("asked_by", ""), ""
        )
        self._head(step, f"call {step['skill']} ({step['call']}){by}")
        if step.get("arguments") not in (None, {}):
            self._say(step["arguments"])
        if step.get("verdict"):
            source = step.get("source", "")
            reason = step.get("reason", "")
            self._say(f"{step['verdict']} ({source})" + (f": {reason}" if reason else ""))
        for one in step.get("signoffs", ()):
            self._say(_signoff(one))
        for one in step.get("events", ()):
            self._say(f"{one['event']}: {as_json({k: v for k, v in one.items() if k != 'event'})}")
        self._ending(step)
        self._gone(step)

    def _ending(self, step: Mapping[str, Any]) -> None:
        if step.get("in_doubt"):
            text = "IN DOUBT: it was started, and nobody knows whether it had its effect"
            screen.say(" " * INDENT + screen.styled(text, "red"))
            return
        if settled := step.get("settled"):
            done = {True: "it was done", False: "it was not done"}.get(settled.get("done"), "nobody knows")
            self._say(f"settled by {settled.get('by') or settled.get('how')}: {done}")
        if step.get("status"):
            took = f" after {step['duration']:.3f} s" if step.get("duration") is not None else ""
            cached = ", from the cache" if step.get("cached") else ""
            self._say(f"{step['status']}{took}{cached}" + (f": {step['why']}" if step.get("why") else ""))
            if step.get("text") and step["status"] == "ok":
                self._say(step["text"])
        elif step.get("started") and not step.get("ended"):
            self._say("started; it has not ended yet")

    def _end(self, step: Mapping[str, Any]) -> None:
        answered = step.get("status") == "answered"
        self._head(step, "answer" if answered else f"the run {step.get('status')}")
        if step.get("reason"):
            self._say(step["reason"])
        if answered and step.get("answer") != self._told:
            self._say(step.get("answer", ""))
        elif answered:
            self._say("as above")
        self._gone(step)

    def _note(self, step: Mapping[str, Any]) -> None:
        self._head(step, str(step["event"]))
        rest = {name: value for name, value in step.items() if name not in ("kind", "time", "seq", "event", "erased")}
        if rest:
            self._say(rest)
        self._gone(step)


def _short(one: str) -> str:
    return one if len(one) <= LONGEST else f"{one[:LONGEST]} ({len(one) - LONGEST} more characters: --full)"


def _signoff(one: Mapping[str, Any]) -> str:
    when = f"{at(one['time']):%H:%M:%S}"
    match one["event"]:
        case "signoff.asked":
            return f"{when} " + (
                "nobody is there: it waits for an answer" if one.get("parked") else "a person is asked"
            )
        case "signoff.answered":
            reason = f": {one['reason']}" if one.get("reason") else ""
            return f"{when} {one.get('answer')} by {one.get('by', 'nobody')}{reason}"
        case "signoff.reused":
            return f"{when} an earlier answer counts (for {one.get('for', 'session')})"
        case _:
            return f"{when} nobody can give a sign-off here"
