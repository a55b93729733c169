"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from remit.models.protocol import Usage
from remit.values import Result

RunStatus = Literal["answered", "stopped", "parked", "failed"]
"""The model answered; a guard or a person ended the run; a call waits for sign-off; the host or the
model's endpoint failed."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a question.

    Attributes:
        answer: the answer; for any status but `answered`, the last that the model said, or empty.
        status: see `RunStatus`.
        stop_reason: why it is not `answered`, one sentence; empty for `answered`.
        steps: model turns.
        calls: results of the calls, in order.
        usage: tokens of all turns; None in it where an endpoint did not say.
        session: id to go on with.
        remedy: what a person can do about a failure; empty when there is nothing to add.
    """

    answer: str
    status: RunStatus
    stop_reason: str = ""
    steps: int = 0
    calls: tuple[Result, ...] = ()
    usage: Usage = field(default_factory=Usage)
    session: str = ""
    remedy: str = ""
