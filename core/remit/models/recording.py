"""Models that record what another one says, and that say it again without any endpoint."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from remit.errors import ModelError
from remit.models.protocol import Model, ModelDelta, ModelReply, ModelRequest, OnDelta
from remit.models.recording_file import RecordedTurn, Recorder, Recording, read_recording, turn_of
from remit.models.request_difference import first_difference
from remit.models.request_form import Form, Hide, form_of, marked, unmarked

NewHide = Callable[[], Hide]
"""Makes what takes out of texts what must not be kept: a new one for each request, so that equal ones stay equal."""


class RecordingModel:
    """Asks a model, and writes every request and reply into a file.

    ```python
    model = RecordingModel(OpenAIModel("gpt-5-mini"), "turns.jsonl")
    Agent("path/to/deployment", model=model).run("How much is 15% of 240?")
    ```

    Neither keys nor headers are written: only what the model is shown and what it says.

    Args:
        model: who is asked.
        into: the file, or a `Recorder` that several of these share.
        scope: whose turns these are; a `ReplayModel` of the same scope finds them.
        hide: see `NewHide`; None keeps everything. The model itself reads everything.
        places: folder to the name that is recorded in its stead, for folders that differ from run to run.
    """

    def __init__(
        self,
        model: Model,
        into: str | Path | Recorder,
        *,
        scope: str = "",
        hide: NewHide | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self._model = model
        self._into = into if isinstance(into, Recorder) else recorder_of(model, into)
        self._scope = scope
        self._hide = hide
        self._places = dict(places or {})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer as the model does. Raises what the model raises, and ModelError where nothing can be written."""
        reply = await self._model.complete(request, on_delta=on_delta)
        hide = self._hide() if self._hide is not None else None
        form = form_of(request, hide=hide, places=self._places)

        def kept(text: str) -> str:
            named = marked(text, form.stands_for)
            return hide(named) if hide is not None else named

        self._into.add(turn_of(form, _changed(reply, kept), self._scope))
        return reply

    async def aclose(self) -> None:
        """Close the file, and what the model has open on the running event loop."""
        self._into.close()
        await self._model.aclose()


class ReplayModel:
    """Says again what a recording holds; nothing is ever asked over a network.

    Each recorded turn is played once: the same request asked twice gets the first reply, then the second.

    ```python
    Agent("path/to/deployment", model=ReplayModel("turns.jsonl")).run("How much is 15% of 240?")
    ```

    Args:
        recording: the file, or a recording that was read.
        scope, hide, places: as they were given to the `RecordingModel`.

    Raises:
        UsageError: the file cannot be read, or is no recording.
    """

    def __init__(
        self,
        recording: str | Path | Recording,
        *,
        scope: str = "",
        hide: NewHide | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self._recording = recording if isinstance(recording, Recording) else read_recording(recording)
        self._turns = [turn for turn in self._recording.turns if turn.scope == scope]
        self._scope = scope
        self._hide = hide
        self._places = dict(places or {})
        self._played: set[int] = set()
        self._by_digest: dict[str, deque[int]] = defaultdict(deque)
        for number, turn in enumerate(self._turns):
            for digest in {turn.exact, turn.loose}:
                self._by_digest[digest].append(number)

    @property
    def name(self) -> str:
        """The name of the model that was recorded."""
        return self._recording.model

    @property
    def images(self) -> bool:
        """Whether the model that was recorded was shown images."""
        return self._recording.images

    @property
    def documents(self) -> bool:
        """Whether it was shown documents."""
        return self._recording.documents

    @property
    def left(self) -> int:
        """Turns that were not played yet."""
        return len(self._turns) - len(self._played)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Play the reply to `request`. Raises ModelError, which says what differs, where it was not recorded."""
        form = form_of(request, hide=self._hide() if self._hide is not None else None, places=self._places)
        turn = self._next(form.exact) or self._next(form.loose)
        if turn is None:
            raise ModelError(self._why_not(form), remedy="record again, or undo what changed")
        reply = _changed(turn.reply, lambda text: unmarked(text, form.stands_for))
        if on_delta is not None and reply.text:
            on_delta(ModelDelta(kind="text", text=reply.text))
        return reply

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

    def _next(self, digest: str) -> RecordedTurn | None:
        waiting = self._by_digest[digest]
        while waiting:
            number = waiting.popleft()
            if number not in self._played:
                self._played.add(number)
                return self._turns[number]
        return None

    def _why_not(self, form: Form) -> str:
        named = f" of {self._scope}" if self._scope else ""
        if not self._turns:
            return f"{self._recording.path} holds no turn{named}"
        same = sum(form.loose in (turn.exact, turn.loose) or turn.exact == form.exact for turn in self._turns)
        if same:
            times = "once" if same == 1 else f"{same} times"
            return f"this request{named} was recorded {times} in {self._recording.path}, and is asked once more"
        nearest = self._nearest(form)
        what = first_difference(nearest.parts, form.parts)
        return f"this request{named} is not in {self._recording.path}; what differs first: {what}"

    def _nearest(self, form: Form) -> RecordedTurn:
        """Return the recorded turn that shares most of its beginning with a request; one not played yet goes first."""

        def likeness(item: tuple[int, RecordedTurn]) -> tuple[int, bool, int]:
            number, turn = item
            pairs = zip(turn.parts, form.parts, strict=False)
            same = next((at for at, (left, right) in enumerate(pairs) if left != right), len(turn.parts))
            return same, number not in self._played, -abs(len(turn.parts) - len(form.parts))

        return max(enumerate(self._turns), key=likeness)[1]


def recorder_of(model: Model, path: str | Path, *, calls: bool = False) -> Recorder:
    """Return what writes a recording of `model` into a file; `calls`: what skills give goes into it, too."""
    shown = {what: getattr(model, what, False) is True for what in ("images", "documents")}
    return Recorder(path, model.name, **shown, calls=calls)


def _changed(reply: ModelReply, change: Hide) -> ModelReply:
    calls: Sequence[Any] = [
        replace(call, name=change(call.name), arguments=change(call.arguments)) for call in reply.calls
    ]
    return replace(
        reply,
        text=change(reply.text),
        reasoning=change(reply.reasoning),
        calls=tuple(calls),
        notes=tuple(map(change, reply.notes)),
        carry=change(reply.carry),
        sent=b"",
        received=b"",
    )
