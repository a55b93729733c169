"""Observers of extensions: told of each call before it runs and when it has ended; they change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from remit.extensions.extensions import Extensions, record_fault
from remit.extensions.values import CallEnd, CallStart
from remit.pipeline.events import PipelineEvent
from remit.pipeline.redact import HIDDEN, Redactor
from remit.skills import Skill
from remit.values import Call, Result

if TYPE_CHECKING:
    from remit.state.store import State

Listen = Callable[[PipelineEvent], None]


def observed(
    extensions: Extensions, state: State, skills: Mapping[str, Skill], redactor: Redactor, listen: Listen
) -> Listen:
    """Return a listener that also tells the observers of extensions; `listen` itself when there are none.

    An observer gets texts of its own, without what may not be kept. One that raises is recorded, and the call goes
    on.
    """
    if not extensions.of("observer"):
        return listen

    def hear(event: PipelineEvent) -> None:
        try:
            listen(event)
        finally:
            for hook, told in _told(event, skills, redactor):
                for fault in extensions.tell(hook, told):
                    record_fault(state, fault)

    return hear


def _told(
    event: PipelineEvent, skills: Mapping[str, Skill], redactor: Redactor
) -> tuple[tuple[str, CallStart | CallEnd], ...]:
    if event.kind == "started":
        return (("observe_call_start", _start(event, skills.get(event.skill), redactor)),)
    if event.kind == "finished" and event.result is not None:
        return (("observe_call_end", _end(event.call, event.result, redactor)),)
    return ()


def _start(event: PipelineEvent, skill: Skill | None, redactor: Redactor) -> CallStart:
    decision = event.decision
    return CallStart(
        session=event.call.session,
        call=event.call.id,
        skill=event.skill,
        arguments=_arguments(event.call.arguments, skill, redactor),
        step=event.call.step,
        verdict="allow" if decision is None else decision.verdict,
        reason="" if decision is None else decision.reason,
    )


def _arguments(text: str, skill: Skill | None, redactor: Redactor) -> str:
    try:
        value = json.loads(text) if text.strip() else {}
        secret = frozenset(value) if skill is None else skill.secret_arguments
        full = "" if skill is None else skill.full
        return json.dumps(redactor.arguments(value, skill=full, secret=secret), ensure_ascii=False)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return HIDDEN


def _end(call: Call, result: Result, redactor: Redactor) -> CallEnd:
    return CallEnd(
        session=call.session,
        call=call.id,
        skill=result.skill,
        status=result.status,
        text=redactor.text(result.text),
        reason=redactor.text(result.reason),
        duration=result.duration,
        labels=result.labels,
    )
