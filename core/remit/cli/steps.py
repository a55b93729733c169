"""The steps of a run as they happen: what the model asks, which verdict, what came back, how long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from remit.cli import screen
from remit.cli.waiting import Waiting

if TYPE_CHECKING:
    from remit.loop.events import Event

COLUMNS = 100
"""Most columns of a line that may be cut; a narrower terminal cuts it sooner."""

NARROWEST = 40
WHOLE = 600
"""Columns of what a person needs to read to the end; a terminal gets it in several lines."""


class Steps:
    """Shows events on a stream, standard error by default; `quiet` shows none."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._waiting = Waiting(moving=not quiet and stream is None and screen.is_terminal(sys.stderr))

    def show(self, event: Event) -> None:
        """Show one event."""
        from remit.loop import events

        if self._quiet:
            return
        match event:
            case events.TurnStarted():
                self._waiting.start(f"step {event.step}: the model thinks")
            case events.TurnRetried():
                self._line(f"asking again in {event.wait:.1f} s: {event.reason}", "yellow", columns=WHOLE)
            case events.TurnEnded():
                self._turn_ended(event)
            case events.Told():
                self._line(f"told the model: {event.text}", "dim")
            case events.CallProposed():
                self._line(f"-> {event.call.skill} {event.call.arguments}", "bold")
            case events.CallDecided():
                if event.decision.verdict != "allow":
                    self._line(
                        f"{event.decision.verdict}: {event.decision.reason} ({event.decision.source})",
                        "yellow",
                        indent=3,
                        columns=WHOLE,
                    )
            case events.CallProgress():
                self._progress(event)
            case events.CallFinished():
                self._finished(event)
            case events.RunEnded():
                self._waiting.stop()

    def stop(self) -> None:
        """Show nothing that moves any more; for a run that ended without saying so."""
        self._waiting.stop()

    def _turn_ended(self, event: object) -> None:
        from remit.loop.events import TurnEnded

        assert isinstance(event, TurnEnded)
        self._waiting.stop()
        if event.calls and event.text.strip():
            self._line(event.text, "dim")

    def _progress(self, event: object) -> None:
        from remit.loop.events import CallProgress

        assert isinstance(event, CallProgress)
        if event.kind == "asking":
            self._waiting.stop()
        elif event.kind == "started":
            self._waiting.start(event.skill)
        elif event.kind in ("progress", "output"):
            for line in event.text.splitlines()[:20]:
                self._line(f"{event.skill}: {line}", "dim", indent=3)

    def _finished(self, event: object) -> None:
        from remit.loop.events import CallFinished

        assert isinstance(event, CallFinished)
        result = event.result
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
        shown = " " * indent + screen.clipped(text, columns - indent)
        if columns == WHOLE:
            shown = screen.wrapped(shown, room, indent=indent + 3)
        self._stream.write(screen.styled(shown, style, self._stream) + "\n")
        self._stream.flush()
