"""The model of an evaluation: asked, asked and recorded, or replayed; one for each attempt. So are its calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.errors import UsageError
from remit.models.protocol import Model, ModelReply, ModelRequest, OnDelta
from remit.models.recording import NewHide, RecordingModel, ReplayModel, recorder_of
from remit.models.recording_file import read_recording
from remit.pipeline.tape import CallPlayer, CallRecorder, NewRedactor, Tape


class Shared:
    """A model that several attempts share: none of them closes it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer as the model does. Raises what it raises."""
        return await self._model.complete(request, on_delta=on_delta)

    async def aclose(self) -> None:
        """Leave it open."""


class Voices:
    """Gives each attempt its model, and what keeps or plays its calls.

    Args:
        model: who is asked; None for a replay.
        record: the file to record into.
        replay: the recording that is played instead.
        redactor: makes what takes out of a recording what must not be kept.
        calls: what skills give is recorded, too; in a replay, it is played where the recording holds it.
        private: private results are recorded, too.

    Attributes:
        plays_calls: no skill runs: what they gave comes from the recording.
    """

    def __init__(
        self,
        model: Model | None,
        *,
        record: str | Path | None,
        replay: str | Path | None,
        redactor: NewRedactor,
        calls: bool = False,
        private: bool = False,
    ) -> None:
        self._model = model
        self._redactor = redactor
        self._hide: NewHide = lambda: redactor().text
        self._private = private
        self._recording = read_recording(replay) if replay is not None else None
        self._recorder = recorder_of(model, record, calls=calls) if record is not None and model is not None else None
        recorded = self._recording is not None and self._recording.calls is not None
        self.plays_calls = recorded and calls

    @property
    def name(self) -> str:
        """The model's name."""
        if self._recording is not None:
            return self._recording.model
        return self._model.name if self._model is not None else ""

    @property
    def mode(self) -> str:
        """`asked`, `recorded` or `replayed`."""
        return "replayed" if self._recording is not None else "recorded" if self._recorder is not None else "asked"

    def require_recorded(self, case: str, repeat: int) -> None:
        """Raise UsageError where a replay lacks an attempt at a case that others were recorded of."""
        if self._recording is None or scope_of(case, repeat) in self._recording.scopes:
            return
        found = sum(scope_of(case, number) in self._recording.scopes for number in range(1, repeat))
        if found:
            raise UsageError(
                f"{self._recording.path} holds {found} of {repeat} attempts at case {case}",
                remedy=f"--repeat {found}, or record with --repeat {repeat}",
            )

    def of(self, case: str, number: int, places: Mapping[str, str]) -> Model:
        """Return the model of one attempt.

        Args:
            case: its id.
            number: of the attempt, from 1.
            places: folder to the name that stands for it in a recording.
        """
        scope = scope_of(case, number)
        if self._recording is not None:
            return ReplayModel(self._recording, scope=scope, hide=self._hide, places=places)
        assert self._model is not None
        shared = Shared(self._model)
        if self._recorder is None:
            return shared
        return RecordingModel(shared, self._recorder, scope=scope, hide=self._hide, places=places)

    def calls_of(self, case: str, number: int, places: Mapping[str, str]) -> Tape | None:
        """Return what keeps or plays the calls of one attempt, None where they run and leave no trace."""
        scope = scope_of(case, number)
        if self.plays_calls and self._recording is not None:
            return CallPlayer(self._recording, scope=scope, redactor=self._redactor, places=places)
        if self._recorder is None or not self._recorder.calls:
            return None
        return CallRecorder(self._recorder, scope=scope, redactor=self._redactor, places=places, private=self._private)

    def begin(self) -> None:
        """Begin the recording. Raises UsageError where it cannot be written."""
        if self._recorder is not None:
            self._recorder.begin()

    async def aclose(self) -> None:
        """Close the recording, and what the model has open on the running event loop."""
        if self._recorder is not None:
            self._recorder.close()
        if self._model is not None:
            await self._model.aclose()


def scope_of(case: str, number: int) -> str:
    """Return the name under which the turns of an attempt are recorded."""
    return f"{case}#{number}"
