"""A model and how it is spoken to; and those that answer in its place when it is down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from remit.loop.counting import Counting
from remit.loop.interpreter import Interpreter
from remit.loop.interpreters import Speech, interpreter_for
from remit.models.circuit import Circuit
from remit.models.protocol import Model
from remit.skills import Skill


@dataclass(frozen=True, kw_only=True)
class Voice:
    """One way to get a model turn.

    Attributes:
        model: who is asked.
        interpreter: how it is spoken to.
        context: tokens that fit into it; None for all there is.
        counting: how its tokens are counted.
        circuit: whether its endpoint is to be left alone now.
    """

    model: Model
    interpreter: Interpreter
    context: int | None = None
    counting: Counting = field(default_factory=Counting)
    circuit: Circuit = field(default_factory=Circuit)


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A model before it is known which skills it is offered; attributes as in `Voice`, with a `Speech`."""

    model: Model
    speech: Speech
    counting: Counting = field(default_factory=Counting)
    circuit: Circuit = field(default_factory=Circuit)


class Choir:
    """The models of one agent, in the order in which they are asked.

    Raises:
        UsageError: there is no such dialect.
    """

    def __init__(self, speakers: Sequence[Speaker], skills: Mapping[str, Skill]) -> None:
        self._speakers = tuple(speakers)
        self._interpreters = [interpreter_for(skills, speaker.speech) for speaker in speakers]

    def voices(self, seen: Callable[[Model], Model]) -> list[Voice]:
        """Return the voices of a run with all skills; `seen` wraps each model."""
        return self._voiced(self._interpreters, seen)

    def with_terms(self, skills: Mapping[str, Skill], also: str, seen: Callable[[Model], Model]) -> list[Voice]:
        """Return the voices of a run with `skills` alone, and with `also` at the end of the system prompt."""
        made = [interpreter_for(skills, _told(speaker.speech, also)) for speaker in self._speakers]
        return self._voiced(made, seen)

    @property
    def dialect(self) -> str:
        """How the first one writes calls."""
        return self._speakers[0].speech.dialect

    async def aclose(self) -> None:
        """Close what the models have open on the running event loop."""
        for speaker in self._speakers:
            await speaker.model.aclose()

    def _voiced(self, interpreters: Sequence[Interpreter], seen: Callable[[Model], Model]) -> list[Voice]:
        return [
            Voice(
                model=seen(speaker.model),
                interpreter=interpreter,
                context=speaker.speech.context,
                counting=speaker.counting,
                circuit=speaker.circuit,
            )
            for speaker, interpreter in zip(self._speakers, interpreters, strict=True)
        ]


def in_order(voices: Sequence[Voice]) -> list[Voice]:
    """Return `voices` in the order in which they are tried: those whose endpoint is left alone come last."""
    return sorted(voices, key=lambda voice: voice.circuit.is_open)


def _told(speech: Speech, also: str) -> Speech:
    return replace(speech, prompt=f"{speech.prompt}\n\n{also}") if also else speech
