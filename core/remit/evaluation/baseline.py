"""An evaluation against an earlier one: what fails now, what passes now, and whether that is more than noise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.errors import UsageError
from remit.evaluation.intervals import mcnemar
from remit.evaluation.report import VERSION, Report

SURE = 0.05
"""A change is more than noise where so uneven a one has a smaller probability without any change."""

LARGEST = 256 * 1024 * 1024

SHOWN = ("success", "exact", "in_order", "any_order", "precision", "recall", "argument_accuracy")
"""Shares that are shown side by side; of `SPREADS` the means are."""

SPREADS = ("steps", "tokens", "cost", "seconds")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """How often a case passed, and what it asked."""

    passed: int
    attempts: int
    digest: str

    @property
    def holds(self) -> bool:
        """Whether the case counts as passed: at least half of its attempts did."""
        return 2 * self.passed >= self.attempts


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An earlier report, as far as it is compared.

    Attributes:
        suite, model, mode: of it.
        cases: id to how often it passed; of cases that were attempted.
        figures: as they were saved.
    """

    suite: str
    model: str
    mode: str
    cases: Mapping[str, Counted]
    figures: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A figure before and now, each with its interval where there is one."""

    name: str
    before: Mapping[str, float | None]
    now: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What changed.

    Attributes:
        before: which suite and model it is compared with, in words.
        worse: ids of cases that passed and fail now.
        better: ids of cases that failed and pass now.
        shakier: ids of cases that count as passed as before, with a smaller share of attempts.
        added, removed: ids of cases that the other one does not have.
        changed: ids of cases that ask or expect something else now; they are not compared.
        failing: ids of those among `added` and `changed` that fail: nothing speaks for them.
        compared: how many were.
        p: of McNemar's exact test over the compared cases.
        figures: that differ.
    """

    before: str
    worse: tuple[str, ...]
    better: tuple[str, ...]
    shakier: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    failing: tuple[str, ...]
    compared: int
    p: float
    figures: tuple[Change, ...]

    @property
    def noise(self) -> bool:
        """Whether the change may well be chance."""
        return self.p >= SURE

    def regressed(self, *, tolerate_noise: bool = False) -> bool:
        """Tell whether it is worse: any newly failing case, or only a loss beyond noise.

        A case that fails and could not be compared counts as worse in any case, and so does a comparison of nothing.
        """
        if not self.compared or self.failing:
            return True
        if not tolerate_noise:
            return bool(self.worse)
        return len(self.worse) > len(self.better) and not self.noise

    @property
    def words(self) -> str:
        """The change in one sentence."""
        if not self.compared:
            return "nothing could be compared: no case was asked then and now, with the same question and checks"
        p = f"McNemar exact p = {self.p:.3g} over {self.compared} cases"
        sure = f"within noise ({p})" if self.noise else f"more than noise ({p})"
        told = f"{len(self.worse)} newly failing, {len(self.better)} newly passing: {sure}"
        if not (self.worse or self.better):
            told = f"no case changed, of {self.compared} compared"
        return told + (f"; {len(self.failing)} failing that could not be compared" if self.failing else "")


def read_baseline(path: str | Path) -> Baseline:
    """Read what `--save` wrote.

    Raises:
        UsageError: it cannot be read, or is no report.
    """
    place = Path(path)
    try:
        if place.stat().st_size > LARGEST:
            raise ValueError(f"more than {LARGEST // 1024 // 1024} MiB")
        body = json.loads(place.read_text("utf-8"), parse_constant=_no_number)
        if body["remit_evaluation"] != VERSION:
            raise ValueError(f"version {body['remit_evaluation']} is not known here")
        cases = {
            str(one["id"]): Counted(passed=int(one["passed"]), attempts=len(one["attempts"]), digest=str(one["digest"]))
            for one in body["cases"]
            if one["attempts"]
        }
        return Baseline(
            suite=str(body["suite"]),
            model=str(body["model"]),
            mode=str(body["mode"]),
            cases=cases,
            figures=dict(body["figures"]),
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"the baseline {place} cannot be read: {why}", remedy="make it with --save") from error


def compare(before: Baseline, report: Report) -> Comparison:
    """Compare a report with an earlier one, case by case and over all."""
    now = {
        one.case.id: Counted(passed=one.passed, attempts=len(one.attempts), digest=one.digest)
        for one in report.cases
        if one.attempts
    }
    common = [name for name in now if name in before.cases]
    changed = [name for name in common if now[name].digest != before.cases[name].digest]
    added = [name for name in now if name not in before.cases]
    same = [name for name in common if name not in changed]
    worse = [name for name in same if before.cases[name].holds and not now[name].holds]
    better = [name for name in same if now[name].holds and not before.cases[name].holds]
    timed = "replayed" not in (before.mode, report.mode)
    return Comparison(
        before=f"suite {before.suite}, model {before.model or 'unnamed'}, {before.mode}",
        worse=tuple(worse),
        better=tuple(better),
        shakier=tuple(name for name in same if name not in worse and _less(now[name], before.cases[name])),
        added=tuple(added),
        removed=tuple(name for name in before.cases if name not in now),
        changed=tuple(changed),
        failing=tuple(name for name in now if name in (*added, *changed) and not now[name].holds),
        compared=len(same),
        p=mcnemar(len(worse), len(better)),
        figures=tuple(_changes(before.figures, report.to_json()["figures"], timed=timed)),
    )


def _less(now: Counted, before: Counted) -> bool:
    return now.holds == before.holds and now.passed * before.attempts < before.passed * now.attempts


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], *, timed: bool) -> Sequence[Change]:
    """Return the figures that differ; times count only where both times a model was asked."""
    found: list[Change] = []
    for name in (*SHOWN, *SPREADS) if timed else (*SHOWN, *SPREADS[:-1]):
        was, is_ = _figure(before.get(name)), _figure(now.get(name))
        if was != is_:
            found.append(Change(name=name, before=was, now=is_))
    return found


def _figure(value: Any) -> dict[str, float | None]:
    """Return a saved figure as its value and interval, whatever kind it is of; empty for none."""
    if isinstance(value, Mapping):
        inner = value.get("mean", value)
        if isinstance(inner, Mapping):
            return {name: _number(inner.get(name)) for name in ("value", "low", "high")}
    return {} if _number(value) is None else {"value": _number(value), "low": None, "high": None}


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
