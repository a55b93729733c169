"""Skills of the host that are no functions: what they give has labels and a status of its own."""

from __future__ import annotations

from dataclasses import replace

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt, Ran
from remit.skills import Hosted
from remit.values import Result


async def run_hosted(attempt: Attempt, hosted: Hosted) -> Ran | Result:
    """Run a host skill and return what it gave. Raises what it raises; a cancellation goes through it."""
    from remit_sandbox.inside.results import to_json

    given = await hosted.run(attempt.call, attempt.arguments.value)
    if given.status == "ok":
        return Ran(text=to_json(given.value), labels=given.labels)
    ended = outcome.ended(attempt, given.status, given.text, reason=given.reason, remedy=given.remedy, stop=given.stop)
    return replace(ended, labels=given.labels)


def goes_on(attempt: Attempt) -> bool:
    """Tell whether this very call was begun before and waits for something in it: it is not asked about again."""
    hosted = attempt.known.hosted
    return hosted is not None and hosted.begun(attempt.call, attempt.arguments.value)
