"""The span `execute_tool {skill}` of a call that ran, or an event where it did not."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from remit.telemetry import names
from remit.telemetry.current import RUN, current
from remit.telemetry.instruments import Attributes, Instruments

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from remit.skills import Skill
    from remit.telemetry.telemetry import Telemetry
    from remit.values import Call, Decision, Result

FAILURES = frozenset({"failed", "timeout", "invalid", "lost"})
"""Statuses that make the span of a call that ran an error."""

UNKNOWN = "unknown"
"""Stands in metrics for a skill that does not exist: what a model writes must not become a series."""


class Seen(Protocol):
    """What is known of a call so far; `remit.pipeline.attempt.Attempt` fits."""

    call: Call
    skill: Skill | None
    decision: Decision | None
    enforcement: Mapping[str, str]
    sequence: int

    @property
    def name(self) -> str:
        """The full name of the skill, or the name as written."""
        ...

    @property
    def shown_arguments(self) -> Mapping[str, Any]:
        """The arguments without secret ones."""
        ...


class ObservedCall:
    """Hears what happens to one call; `close` at its end, whatever happened."""

    def __init__(self, call: Call, made: Instruments, settings: Telemetry) -> None:
        self._call = call
        self._made = made
        self._settings = settings
        self._stack = ExitStack()
        self._span: Span | None = None
        self._began = self._asked = 0.0
        self._waited: float | None = None
        self._answer = ""

    def hear(self, kind: str, seen: Seen, *, text: str = "", result: Result | None = None) -> None:
        """Take down an event of the pipeline (`remit.pipeline.events.EventKind`)."""
        match kind:
            case "asking":
                self._asked = time.perf_counter()
            case "answered":
                self._answered(text)
            case "started" if self._span is None:
                self._start(seen)
            case "finished" if result is not None:
                self._finish(seen, result)

    def close(self) -> None:
        """End what is still open: the call was left without a result."""
        if self._span is not None:
            self._end(self._span, {names.STATUS: "lost", names.ERROR: "lost"}, failed=True)

    def _answered(self, answer: str) -> None:
        self._waited = time.perf_counter() - self._asked
        self._answer = answer
        self._made.signoff_wait.record(self._waited, {names.SIGNOFF: answer})

    def _start(self, seen: Seen) -> None:
        from opentelemetry.trace import SpanKind

        run = RUN.get()
        if run is not None:
            run.tools += 1
        attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: seen.name,
            names.TOOL_TYPE: "function",
            names.CONVERSATION: self._call.session,
            **self._about(seen),
        }
        if self._settings.content:
            shown = self._settings.hide_value(seen.shown_arguments)
            attributes[names.TOOL_ARGUMENTS] = json.dumps(shown, ensure_ascii=False, default=str)
        name = f"{names.EXECUTE_TOOL} {seen.name}"
        self._span = self._made.tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)
        self._began = time.perf_counter()
        self._stack.enter_context(current(self._span))

    def _finish(self, seen: Seen, result: Result) -> None:
        known = seen.name if seen.skill is not None else UNKNOWN
        verdict = seen.decision.verdict if seen.decision is not None else "none"
        counted = {names.TOOL_NAME: known, names.VERDICT: verdict, names.STATUS: result.status}
        self._made.calls.add(1, counted)
        ending = self._ending(seen, result)
        if self._span is None:
            self._not_run({names.TOOL_NAME: seen.name, **self._about(seen), **ending})
            return
        failed = result.status in FAILURES
        error = {names.ERROR: result.status} if failed else {}
        self._made.tool_duration.record(
            time.perf_counter() - self._began, {names.TOOL_NAME: known, names.TOOL_TYPE: "function", **error}
        )
        self._end(self._span, {**ending, **error}, failed=failed)

    def _not_run(self, attributes: Attributes) -> None:
        from opentelemetry.trace import get_current_span

        get_current_span().add_event(names.NOT_RUN, attributes)

    def _end(self, span: Span, attributes: Attributes, *, failed: bool) -> None:
        from opentelemetry.trace import StatusCode

        self._span = None
        self._stack.close()
        span.set_attributes(attributes)
        if failed:
            span.set_status(StatusCode.ERROR)
        span.end()

    def _about(self, seen: Seen) -> Attributes:
        call, skill, decision = self._call, seen.skill, seen.decision
        found: Attributes = {names.TOOL_CALL: call.id, names.ASKED_BY: call.asked_by}
        if call.parent:
            found[names.PARENT_CALL] = call.parent
        if decision is not None:
            found |= {names.VERDICT: decision.verdict, names.VERDICT_SOURCE: decision.source}
        if skill is not None:
            found |= {names.EFFECT: skill.effect, names.IMPACT: sorted(skill.impact)}
            found |= {names.SKILL_HASH: skill.hash, names.PACK_VERSION: skill.version}
        if self._waited is not None:
            found |= {names.SIGNOFF: self._answer, names.SIGNOFF_WAIT: self._waited}
        return found

    def _ending(self, seen: Seen, result: Result) -> Attributes:
        found: Attributes = {names.STATUS: result.status, names.RECORD: seen.sequence}
        if result.enforcement:
            found[names.ENFORCEMENT] = sorted(f"{right}={by}" for right, by in result.enforcement.items())
        if result.labels:
            found[names.LABELS] = sorted(result.labels)
        if result.cached:
            found[names.CACHED] = True
        if self._settings.content:
            found[names.TOOL_RESULT] = self._settings.hide(result.text)
            if result.reason:
                found[names.REASON] = self._settings.hide(result.reason)
        return found
