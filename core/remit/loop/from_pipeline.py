"""The events of the pipeline in the stream of a run."""

from __future__ import annotations

from remit.loop.events import CallDecided, CallFinished, CallProgress, CallProposed, Event
from remit.pipeline.events import PipelineEvent


def from_pipeline(event: PipelineEvent) -> Event | None:
    """Return the loop's form of a pipeline's event, None for what the loop tells itself."""
    call, session = event.call, event.call.session
    match event.kind:
        case "proposed":
            return CallProposed(session=session, call=call) if call.parent else None
        case "finished":
            if not call.parent or event.result is None:
                return None
            return CallFinished(session=session, call=call, result=event.result)
        case "decided":
            if event.decision is None:
                return None
            return CallDecided(session=session, call=call.id, skill=event.skill, decision=event.decision)
        case kind:
            return CallProgress(session=session, call=call.id, skill=event.skill, kind=kind, text=event.text)
