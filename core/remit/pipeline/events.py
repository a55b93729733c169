"""What a pipeline tells while a call goes through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.values import Call, Decision, Result

EventKind = Literal["proposed", "decided", "asking", "answered", "started", "progress", "output", "finished"]
"""`proposed`: a call came in. `decided`: it has a verdict. `asking`, `answered`: a person is asked and
has answered. `started`: it runs. `progress`: the skill says something to whoever waits. `output`: what
the skill printed. `finished`: it has a result."""


@dataclass(frozen=True, kw_only=True)
class PipelineEvent:
    """One thing that happened to a call.

    Attributes:
        kind: see `EventKind`.
        call: the call.
        skill: full name, or the name as written while it is not known.
        text: progress, output or a person's answer; hostile text, to be rendered before it is shown.
        decision: the verdict (`decided` and later).
        result: the result (`finished`).
    """

    kind: EventKind
    call: Call
    skill: str
    text: str = ""
    decision: Decision | None = None
    result: Result | None = None
