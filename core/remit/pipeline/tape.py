"""Calls of skills on a tape: kept with what they gave, or played again without running anything.

Policy and people decide as ever; a tape only stands where the handler would run. The skills of Remit itself (pack
`remit`) run in a replay, too: they reach nothing but what the replay itself holds.

A call is found by the SHA-256 of its skill and checked arguments, and the n-th time that it is made it gives what it
gave the n-th time. Left out of the arguments are the folders that the caller names, handles (`r-...`), and what the
deployment's redactor or the pack's manifest hides.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Protocol

from remit.errors import NotRecorded
from remit.models.recorded_call import GIVEN, LONGEST, RecordedCall
from remit.models.recording_file import Recorder, Recording
from remit.models.request_form import canonical, digest_of, marked, unmarked
from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt, Ran
from remit.pipeline.redact import Redactor
from remit.pipeline.start import start
from remit.skills import RESERVED_PACK
from remit.values import Result
from remit_sandbox.values import FollowUp

PLAYED = {"all rights": "nothing ran: played from a recording"}
"""Enforcement of a call that was played."""

PRIVATE = "its result is private, which only --record-private keeps"
HIDDEN = "its result holds what [log] redact hides, which only --record-private keeps"
TOO_LONG = f"its result is longer than {LONGEST} characters"

_HANDLE = re.compile(r"\br-[0-9a-f]{12}\b")

NewRedactor = Callable[[], Redactor]
"""Makes a redactor: a new one for each call, so that equal calls stay equal."""


class Tape(Protocol):
    """Keeps what calls give, or gives it again."""

    async def play(self, attempt: Attempt) -> Ran | Result | None:
        """Return what a call gave when it was recorded, None for one that is to run."""
        ...

    def keep(self, attempt: Attempt, ran: Ran | Result) -> None:
        """Take what a call gave."""
        ...


class CallRecorder:
    """Writes what calls give into a recording.

    Args:
        into: the recording.
        scope: whose calls these are; a `CallPlayer` of the same scope finds them.
        redactor: of the deployment.
        places: folder to the name that is recorded in its stead.
        private: private results, and those that hold what the redactor hides, are recorded, too.
    """

    def __init__(
        self, into: Recorder, *, scope: str, redactor: NewRedactor, places: Mapping[str, str], private: bool = False
    ) -> None:
        self._into = into
        self._scope = scope
        self._redactor = redactor
        self._marks = {mark: folder for folder, mark in places.items()}
        self._private = private
        self._numbers = count()
        self._began: dict[tuple[str, str], int] = {}

    async def play(self, attempt: Attempt) -> None:
        """Let every call run, and remember when it began: of equal calls at one time the later may end first."""
        self._began[_key(attempt)] = next(self._numbers)

    def keep(self, attempt: Attempt, ran: Ran | Result) -> None:
        """Write one call. Raises NotRecorded where it cannot be written."""
        status = ran.status if isinstance(ran, Result) else "ok"
        began = self._began.pop(_key(attempt), 0)
        if _runs_always(attempt) or status not in GIVEN:
            return
        text = ran.text if isinstance(ran, Result) else ran.text.decode("utf-8", "replace")
        follow_ups = () if isinstance(ran, Result) else ran.follow_ups
        asked = tuple((one.skill, self._marked(one.arguments.decode("utf-8", "replace"))) for one in follow_ups)
        kept = {"text": self._marked(text), "labels": ran.labels, "follow_ups": asked}
        why = self._withheld(ran.labels, text, asked)
        call = RecordedCall(
            scope=self._scope,
            skill=attempt.known.full,
            digest=digest_of_call(attempt, self._redactor(), self._marks),
            status=status,
            began=began,
            withheld=why,
            **({} if why else kept),  # type: ignore[arg-type]
        )
        self._into.add_call(call)

    def _withheld(self, labels: frozenset[str], text: str, follow_ups: tuple[tuple[str, str], ...]) -> str:
        """Return why a result is not kept, empty when it is: whole or not at all, for half of it plays wrongly."""
        whole = [text, *(arguments for _, arguments in follow_ups)]
        if sum(map(len, whole)) > LONGEST:
            return TOO_LONG
        if self._private:
            return ""
        if "private" in labels:
            return PRIVATE
        redactor = self._redactor()
        return HIDDEN if any(_holds_hidden(redactor, one) for one in whole) else ""

    def _marked(self, text: str) -> str:
        return marked(text, self._marks)


class CallPlayer:
    """Gives again what a recording holds; no skill of a pack or of the program runs.

    Args: see `CallRecorder`.
    """

    def __init__(self, recording: Recording, *, scope: str, redactor: NewRedactor, places: Mapping[str, str]) -> None:
        self._path = recording.path
        self._scope = scope
        self._redactor = redactor
        self._marks = {mark: folder for folder, mark in places.items()}
        self._waiting: dict[str, deque[RecordedCall]] = defaultdict(deque)
        self._known: dict[str, int] = defaultdict(int)
        own = [call for call in recording.calls or () if call.scope == scope]
        for call in sorted(own, key=lambda call: call.began):
            self._waiting[call.digest].append(call)
            self._known[call.skill] += 1

    async def play(self, attempt: Attempt) -> Ran | Result | None:
        """Return what the call gave; None for a skill of Remit itself.

        Raises:
            NotRecorded: the recording lacks it.
            StateError: its beginning cannot be recorded.
        """
        if _runs_always(attempt):
            return None
        call = self._next(attempt)
        attempt.enforcement = dict(PLAYED)
        stopped = await start(attempt)
        if stopped is not None:
            return stopped
        labels = call.labels | attempt.known.labels
        text = unmarked(call.text, self._marks)
        if call.status != "ok":
            return replace(outcome.ended(attempt, call.status, text), labels=labels)
        asked = (
            FollowUp(skill=skill, arguments=unmarked(arguments, self._marks).encode("utf-8", "replace"))
            for skill, arguments in call.follow_ups
        )
        return Ran(text=text.encode("utf-8", "replace"), labels=labels, follow_ups=tuple(asked), played=True)

    def keep(self, attempt: Attempt, ran: Ran | Result) -> None:
        """Keep nothing."""

    def _next(self, attempt: Attempt) -> RecordedCall:
        full = attempt.known.full
        waiting = self._waiting[digest_of_call(attempt, self._redactor(), self._marks)]
        if not waiting:
            raise NotRecorded(self._why_not(full, attempt), remedy="record again, or undo what changed")
        call = waiting.popleft()
        if call.withheld:
            raise NotRecorded(
                f"the call of {full} in {self._path} cannot be played: {call.withheld}",
                remedy="record again, or let skills run: --run-calls",
            )
        return call

    def _why_not(self, full: str, attempt: Attempt) -> str:
        of = f" of {self._scope}" if self._scope else ""
        if not (known := self._known[full]):
            return f"no call of {full}{of} is in {self._path}"
        shown = canonical(attempt.shown_arguments)
        times = "once" if known == 1 else f"{known} times"
        return f"{full} was called {times}{of} in {self._path}, but not with {shown[:200]}, or not once more"


def digest_of_call(attempt: Attempt, redactor: Redactor, marks: Mapping[str, str]) -> str:
    """Return the digest by which a call is found.

    Args:
        attempt: the call, with its arguments checked.
        redactor: takes out of them what must not be kept.
        marks: name to the folder that it stands for.
    """
    skill = attempt.known
    shown = redactor.arguments(attempt.arguments.value, skill=skill.full, secret=skill.secret_arguments)
    handles: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return handles.setdefault(found[0], f"<handle {len(handles) + 1}>")

    return digest_of([skill.full, _HANDLE.sub(named, marked(canonical(shown), marks))])


def _key(attempt: Attempt) -> tuple[str, str]:
    return attempt.call.session, attempt.call.id


def _runs_always(attempt: Attempt) -> bool:
    return attempt.known.pack == RESERVED_PACK


def _holds_hidden(redactor: Redactor, text: str) -> bool:
    """Tell whether a redactor would change a text, or a value in it."""
    if redactor.text(text) != text:
        return True
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(redactor.value(value) != value)
