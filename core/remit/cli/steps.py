"""The steps of a run as they happen: what the model asks, which verdict, what came back, how long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from remit.cli import screen
from remit.cli.waiting import Waiting

if TYPE_CHECKING:
    from remit.loop.events import Event
    from remit.values import Call

COLUMNS = 100
"""Most columns of a line that may be cut; a narrower terminal cuts it sooner."""

NARROWEST = 40
WHOLE = 600
"""Columns of what a person needs to read to the end; a terminal gets it in several lines."""


class Steps:
    """Shows events on a stream, standard error by default; `quiet` shows none."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._agent = ""
        self._verdicts: dict[tuple[str, str], str] = {}
        self._said: set[tuple[str, str]] = set()
        self._stream = stream or sys.stderr
        self._waiting = Waiting(moving=not quiet and stream is None and screen.is_terminal(sys.stderr))

    def show(self, event: Event) -> None:
        """Show one event."""
        from remit.loop import events

        if self._quiet:
            return
        match event:
            case events.TurnStarted():
                self._turn_started(event)
            case events.Summarised():
                what = "older messages" if event.of == "history" else "characters of a result"
                self._line(f"the model summarised {event.covers:,} {what}: {event.text}", "dim")
            case events.TurnRetried():
                self._line(f"asking again in {event.wait:.1f} s: {event.reason}", "yellow", columns=WHOLE)
            case events.TurnEnded():
                self._turn_ended(event)
            case events.Told():
                self._line(f"told the model: {event.text}", "dim")
            case events.CallProposed():
                self._proposed(event.session, event.call)
            case events.CallDecided():
                self._decided(event)
            case events.CallProgress():
                self._progress(event)
            case events.CallFinished():
                self._finished(event)
            case events.Delegated():
                self._of_agent(event)
            case events.RunEnded():
                self._waiting.stop()

    def stop(self) -> None:
        """Show nothing that moves any more; for a run that ended without saying so."""
        self._waiting.stop()

    def _of_agent(self, event: object) -> None:
        """Show what happens in the run of another agent, with its name before each line."""
        from remit.loop.events import Delegated

        assert isinstance(event, Delegated)
        before, self._agent = self._agent, f"{event.agents[0]}: "
        try:
            self.show(event.inner)
        finally:
            self._agent = before

    def _turn_started(self, event: object) -> None:
        from remit.loop.events import TurnStarted

        assert isinstance(event, TurnStarted)
        if event.left_out or event.summarised:
            gone = [f"a summary stands for {event.summarised} older messages"] if event.summarised else []
            gone += [f"{event.left_out} older messages are left out"] if event.left_out else []
            taken = f"{event.tokens:,} of {event.context or 0:,} tokens and {event.room:,} kept for the reply"
            self._line(f"context: {taken} ({event.counted_by}); {', '.join(gone)}", "dim")
        self._waiting.start(f"{self._agent}step {event.step}: the model thinks")

    def _turn_ended(self, event: object) -> None:
        from remit.loop.events import TurnEnded

        assert isinstance(event, TurnEnded)
        self._waiting.stop()
        if event.calls and event.text.strip():
            self._line(f"the model says: {event.text}", "dim")

    def _decided(self, event: object) -> None:
        """Keep what asks for a sign-off until it is known whether somebody is asked; say at once what is denied."""
        from remit.loop.events import CallDecided

        assert isinstance(event, CallDecided)
        decision = event.decision
        if decision.verdict != "allow":
            self._verdicts[event.session, event.call] = f"{decision.verdict}: {decision.reason} ({decision.source})"
        if decision.verdict == "deny":
            self._say_verdict(event.session, event.call, covered=False)

    def _say_verdict(self, session: str, call: str, *, covered: bool) -> None:
        """Say why a call needs a sign-off; `covered` where one was given before, so that nobody is asked."""
        text = self._verdicts.pop((session, call), "")
        if text:
            text += "; a sign-off that was given before covers it" if covered else ""
            self._line(text, "dim" if covered else "yellow", indent=3, columns=WHOLE)

    def _progress(self, event: object) -> None:
        from remit.loop.events import CallProgress

        assert isinstance(event, CallProgress)
        if event.kind in ("asking", "started"):
            self._say_verdict(event.session, event.call, covered=event.kind == "started")
        if event.kind == "asking":
            self._waiting.stop()
        elif event.kind == "started":
            self._waiting.start(self._agent + event.skill)
        elif event.kind in ("progress", "output"):
            for line in event.text.splitlines()[:20]:
                self._line(f"{event.skill}: {line}", "dim", indent=3)

    def _proposed(self, session: str, call: Call) -> None:
        self._said.add((session, call.id))
        self._line(f"-> {call.skill} {call.arguments}", "bold")

    def _finished(self, event: object) -> None:
        from remit.loop.events import CallFinished

        assert isinstance(event, CallFinished)
        result = event.result
        if (event.session, event.call.id) not in self._said:  # held up by another one, so that it never began
            self._proposed(event.session, event.call)
        self._said.discard((event.session, event.call.id))
        self._say_verdict(event.session, event.call.id, covered=result.status == "ok")
        self._line(
            f"<- {result.status} in {result.duration:.3f} s: {result.text}", "green" if result.status == "ok" else "red"
        )
        if result.remedy:
            self._waiting.stop()
            self._stream.write(screen.styled(screen.next_lines(result.remedy), "dim", self._stream) + "\n")
            self._stream.flush()

    def _line(self, text: str, style: screen.Style, *, indent: int = 0, columns: int = COLUMNS) -> None:
        self._waiting.stop()
        room = screen.columns(self._stream)
        if columns == COLUMNS and room:
            columns = max(min(columns, room), NARROWEST)
        shown, start = screen.clipped(self._agent + text, columns - indent), " " * indent
        if columns == WHOLE:
            shown = screen.hanging(shown, start=start, indent=indent + 5, stream=self._stream)
        else:
            shown = start + shown
        self._stream.write(screen.styled(shown, style, self._stream) + "\n")
        self._stream.flush()
