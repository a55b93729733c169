"""What an audit may fail on: `remit audit --fail-on widened,unlocked,unused,impact`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit.deployment.audit_report import Report
from remit.deployment.deployment import Deployment
from remit.deployment.versions import Versions
from remit.errors import RemitError, UsageError


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One reason to fail.

    Attributes:
        kind: `widened`, `unlocked`, `unused` or `impact`.
        line: in words.
        remedy: what to do about it.
    """

    kind: str
    line: str
    remedy: str = ""


def _widened(deployment: Deployment, report: Report) -> Iterator[Finding]:
    """What an installed pack wants beyond its lock; whatever cannot be ranked counts, too."""
    versions = Versions(deployment.folder, paths=deployment.paths, sandbox=deployment.sandbox)
    for name in sorted(deployment.assembled.errors):
        if name not in deployment.inventory.packs:
            continue
        try:
            found = versions.of(name)
        except RemitError as error:
            yield Finding(kind="widened", line=f"pack {name} cannot be compared: {error.message}", remedy=error.remedy)
            continue
        for line in found.changes.lines("widens", "unranked"):
            yield Finding(kind="widened", line=f"pack {name}: {line}", remedy=f"remit packs diff {name}")


def _unlocked(deployment: Deployment, report: Report) -> Iterator[Finding]:
    """Packs and skills that are enabled and not held by the lock, or not as they were locked."""
    for problem in report.problems:
        yield Finding(kind="unlocked", line=str(problem).partition(" (")[0], remedy=problem.remedy)
    for row in report.rows:
        if row.dev:
            yield Finding(
                kind="unlocked",
                line=f"{row.skill} is a development install, whose files no lock holds",
                remedy=f"build and install a wheel of pack {row.pack}",
            )


def _unused(deployment: Deployment, report: Report) -> Iterator[Finding]:
    """Skills that no call used."""
    for skill in report.unused:
        line = f"{skill} was not used in {report.days:g} days"
        yield Finding(kind="unused", line=line, remedy=f"remit packs disable {skill}")


def _impact(deployment: Deployment, report: Report) -> Iterator[Finding]:
    """Skills that can destroy, pay, publish, reveal or give power, and that no rule denies."""
    for row in report.rows:
        if row.impact and row.verdict != "deny":
            line = f"{row.skill} can be called and has the impact {', '.join(row.impact)} ({row.verdict})"
            yield Finding(kind="impact", line=line, remedy=f"remit packs disable {row.skill}, or a rule that denies it")


KINDS: Mapping[str, Callable[[Deployment, Report], Iterator[Finding]]] = {
    "widened": _widened,
    "unlocked": _unlocked,
    "unused": _unused,
    "impact": _impact,
}
"""Name to what looks for it."""


def checked_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds in a list with commas between.

    Raises:
        UsageError: one is unknown.
    """
    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"--fail-on: {kind!r} is none; there are {', '.join(KINDS)}")
    if not kinds:
        raise UsageError(f"--fail-on needs one of {', '.join(KINDS)}")
    return kinds


def findings(deployment: Deployment, report: Report, kinds: Sequence[str]) -> tuple[Finding, ...]:
    """Return every reason to fail, kind by kind."""
    return tuple(finding for kind in kinds for finding in KINDS[kind](deployment, report))
