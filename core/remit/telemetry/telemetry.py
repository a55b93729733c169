"""`Telemetry`: what one agent or pipeline tells OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit.telemetry.instruments import instruments

if TYPE_CHECKING:
    from remit.models.protocol import Model
    from remit.telemetry.call import ObservedCall
    from remit.telemetry.run import ObservedRun
    from remit.values import Call


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """Spans and metrics of runs, model turns and calls.

    Each part is made when it begins, and is None where the program has not configured OpenTelemetry:
    then nothing is imported and nothing is measured.

    Attributes:
        content: also export arguments, results, messages and reasons (personal data!).
        older_metrics: also the two metrics whose names the conventions had up to 1.41.
        hide: takes secrets out of a text that is exported with `content`.
        hide_value: the same for plain JSON data.
    """

    content: bool = False
    older_metrics: bool = True
    hide: Callable[[str], str] = str
    hide_value: Callable[[Mapping[str, Any]], Any] = dict

    def run(self, *, session: str, agent: str, model: str) -> ObservedRun | None:
        """Return a run's span, to be entered as a context manager around it."""
        made = instruments()
        if made is None:
            return None
        from remit.telemetry.run import ObservedRun

        return ObservedRun(made, session=session, agent=agent, model=model)

    def model(self, model: Model) -> Model:
        """Return `model`, observed; the same object where nothing is exported."""
        made = instruments()
        if made is None:
            return model
        from remit.telemetry.model import ObservedModel

        return ObservedModel(model, made, self)

    def call(self, call: Call) -> ObservedCall | None:
        """Return what observes one call on its way through the pipeline."""
        made = instruments()
        if made is None:
            return None
        from remit.telemetry.call import ObservedCall

        return ObservedCall(call, made, self)


OFF = Telemetry()
"""The standard settings: no content."""
