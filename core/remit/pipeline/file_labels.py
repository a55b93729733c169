"""Labels follow values into files, and out of them again, also in another session."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from remit.errors import StateError
from remit.pipeline.attempt import Attempt, Ran
from remit.pipeline.resources import resolved
from remit.provenance.judge import carried
from remit.values import Result

T = TypeVar("T", Ran, Result)


@contextmanager
def written_with_labels(attempt: Attempt) -> Iterator[None]:
    """Around a call that changes files: what its arguments carry, and the files that it takes it from, is noted.

    It is noted before it runs: a call that is cut short may have written. It is noted again afterwards: who looked
    meanwhile found no file yet, and so no labels either.

    Raises:
        StateError: it cannot be written; the call must not run.
    """
    paths, ledger, state = _written(attempt), attempt.call.ledger, attempt.around.state
    labels = state.labels_of_files(paths) if len(paths) > 1 and attempt.known.effect != "read" else frozenset()
    if paths and ledger is not None:
        labels |= carried(attempt.arguments.value, ledger) | attempt.call.labels
    if not labels:
        yield
        return
    state.label_files(paths, labels)
    attempt.note("label.added", {"labels": sorted(labels), "files": len(paths)}, {"paths": sorted(paths)})
    try:
        yield
    finally:
        with suppress(StateError):  # what the call gave counts for more
            state.label_files(paths, labels)


def with_labels_of_files(attempt: Attempt, ran: T) -> T:
    """Return what a call gave, with the labels of the files that it may come from: an error may quote them, too.

    Raises:
        StateError: they cannot be read.
    """
    if isinstance(ran, Result) and not attempt.started:
        return ran
    places = _paths(attempt) or _readable(attempt)
    return replace(ran, labels=ran.labels | attempt.around.state.labels_of_files(places)) if places else ran


def _paths(attempt: Attempt) -> Collection[str]:
    """Return the real paths that the call names."""
    skill, arguments = attempt.known, attempt.arguments.value
    kinds = {name: kind for name, kind in skill.targets.items() if kind == "path"}
    return set(resolved(replace(skill, targets=kinds), arguments).values()) if kinds else ()


def _written(attempt: Attempt) -> Collection[str]:
    """Return what a call may change: the paths that it names, or where it names none, all that its skill may write.

    A skill that only reads may still write into the folder of its pack.
    """
    named = _paths(attempt) if attempt.known.effect != "read" else ()
    cell = attempt.known.cell
    return named or (_folders(cell.rights.write) if cell is not None else ())


def _readable(attempt: Attempt) -> Collection[str]:
    """Return the folders that a call may read which names no file: all that its skill may read in the workspace."""
    cell = attempt.known.cell
    return () if cell is None else _folders((*cell.rights.read, *cell.rights.write))


def _folders(rights: Iterable[str]) -> Collection[str]:
    return {path.removesuffix("/**") for path in rights}
