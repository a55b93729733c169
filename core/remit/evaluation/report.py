"""What an evaluation found, as a value that can be saved, compared and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from remit.evaluation.attempt import Attempt
from remit.evaluation.case import Case
from remit.evaluation.figures import Figures, figures
from remit.models.request_form import canonical, digest_of

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class CaseReport:
    """What came of one case.

    Attributes:
        case: the case as it was run, the suite's defaults included.
        attempts: at it, in order; empty where it was not run.
        skipped: why it was not run; empty where it was.
    """

    case: Case
    attempts: tuple[Attempt, ...] = ()
    skipped: str = ""

    @property
    def passed(self) -> int:
        """How many attempts passed."""
        return sum(attempt.passed for attempt in self.attempts)

    @property
    def state(self) -> str:
        """`passed`, `failed`, `flaky` (some attempts passed) or `skipped`."""
        if not self.attempts:
            return "skipped"
        if self.passed == len(self.attempts):
            return "passed"
        return "flaky" if self.passed else "failed"

    @property
    def digest(self) -> str:
        """SHA-256 of the case: equal as long as it asks and expects the same; tags do not count."""
        return digest_of([canonical(self.case.model_dump(mode="json", exclude={"tags", "skip"}, exclude_unset=True))])


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an evaluation found.

    Attributes:
        suite: its name.
        model: name of the model.
        mode: `asked`, `recorded` or `replayed`; times of a replay say nothing about a model.
        made: when it began, seconds since 1970.
        repeat: attempts at each case that were asked for.
        cases: in the order of the suite.
        interrupted: it was ended before it was done.
        notes: what a reader should know.
    """

    suite: str
    model: str
    mode: str
    made: float
    repeat: int
    cases: tuple[CaseReport, ...]
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def figures(self) -> Figures:
        """The figures over all cases."""
        return _figures(self.cases)

    @cached_property
    def by_tag(self) -> Mapping[str, Figures]:
        """The figures of the cases with each tag."""
        tags = sorted({tag for one in self.cases for tag in one.case.tags})
        return {tag: _figures(one for one in self.cases if tag in one.case.tags) for tag in tags}

    @property
    def flaky(self) -> tuple[str, ...]:
        """Ids of cases of which some attempts passed and some did not."""
        return tuple(one.case.id for one in self.cases if one.state == "flaky")

    @property
    def success(self) -> float:
        """Share of attempts that passed; 0 where there was none."""
        return self.figures.success.value if self.figures.success is not None else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON data; `read_baseline` reads it."""
        return {
            "remit_evaluation": VERSION,
            "suite": self.suite,
            "model": self.model,
            "mode": self.mode,
            "made": self.made,
            "repeat": self.repeat,
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            "figures": asdict(self.figures),
            "by_tag": {tag: asdict(found) for tag, found in self.by_tag.items()},
            "flaky": list(self.flaky),
            "cases": [_case_json(one) for one in self.cases],
        }


def _figures(cases: Iterable[CaseReport]) -> Figures:
    return figures([one.attempts for one in cases])


def _case_json(one: CaseReport) -> dict[str, Any]:
    return {
        "id": one.case.id,
        "question": one.case.question,
        "tags": list(one.case.tags),
        "digest": one.digest,
        "state": one.state,
        "passed": one.passed,
        "skipped": one.skipped,
        "attempts": [{**asdict(attempt), "passed": attempt.passed, "steps": attempt.steps} for attempt in one.attempts],
    }
