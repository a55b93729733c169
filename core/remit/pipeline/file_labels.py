"""Labels follow values into files, and out of them again, also in another session."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from remit.errors import StateError
from remit.pipeline.attempt import Attempt, Ran
from remit.pipeline.files_named import Named, named_by
from remit.pipeline.touched import Before
from remit.provenance.judge import carried
from remit.values import Result

T = TypeVar("T", Ran, Result)


@contextmanager
def written_with_labels(attempt: Attempt) -> Iterator[None]:
    """Around a call that changes files: what its arguments carry, and the files that it takes it from, is noted.

    It is noted before it runs: a call that is cut short may have written. It is noted again afterwards: who looked
    meanwhile found no file yet, and so no labels either. Files that it changed without naming them, such as those that
    it gave a new name, have the labels of all that it named.

    Raises:
        StateError: it cannot be written; the call must not run.
    """
    named, ledger, state = named_by(attempt.known, attempt.arguments.value), attempt.call.ledger, attempt.around.state
    paths = _written(attempt, named)
    sources, writes = paths | named.others, bool(paths) or _is_function(attempt)
    held = state.labels_of_files(sources) if writes and attempt.known.effect != "read" else frozenset()
    labels = held if len(sources) > 1 else frozenset()
    if writes and ledger is not None:
        labels |= carried(attempt.arguments.value, ledger) | attempt.call.labels
    if not (labels or held):
        yield
        return
    _label(attempt, paths, labels)
    before = _looked_at(attempt, named)
    try:
        yield
    finally:
        with suppress(StateError):  # what the call gave counts for more
            if labels and paths:
                state.label_files(paths, labels)
            _label(attempt, _made(attempt, before), labels | held)


def _made(attempt: Attempt, before: Before | None) -> Collection[str]:
    """Return what a call changed beside its targets; of a function of this program, only what its arguments name."""
    if before is not None:
        return before.touched()
    return named_by(attempt.known, attempt.arguments.value).others if _is_function(attempt) else ()


def _is_function(attempt: Attempt) -> bool:
    """Tell whether a function of this program is called that changes something: it may write wherever it is told to."""
    return attempt.known.function is not None and attempt.known.cell is None and attempt.known.effect != "read"


def _label(attempt: Attempt, paths: Collection[str], labels: frozenset[str]) -> None:
    if paths and labels:
        attempt.around.state.label_files(paths, labels)
        attempt.note("label.added", {"labels": sorted(labels), "files": len(paths)}, {"paths": sorted(paths)})


def _looked_at(attempt: Attempt, named: Named) -> Before | None:
    """Look at the files that a call may change beside those that it names; where it names none, all have labels."""
    cell = attempt.known.cell
    return Before(cell.rights.write, named.targets) if cell is not None and named.targets else None


def with_labels_of_files(attempt: Attempt, ran: T) -> T:
    """Return what a call gave, with the labels of the files that it may come from: an error may quote them, too.

    Raises:
        StateError: they cannot be read.
    """
    if isinstance(ran, Result) and not attempt.started:
        return ran
    named = named_by(attempt.known, attempt.arguments.value)
    places = named.everything | (frozenset() if named.targets and named.is_all else _readable(attempt, named))
    return replace(ran, labels=ran.labels | attempt.around.state.labels_of_files(places)) if places else ran


def _written(attempt: Attempt, named: Named) -> frozenset[str]:
    """Return what a call may change: the paths that it names, and where that is not all, all that its skill may write.

    A skill that only reads may still write into the folder of its pack.
    """
    targets = named.targets if attempt.known.effect != "read" else frozenset()
    cell = attempt.known.cell
    if cell is None or (targets and named.is_all):
        return targets
    return targets | _folders(cell.rights.write)


def _readable(attempt: Attempt, named: Named) -> frozenset[str]:
    """Return the folders that a call may read which does not name all of its files: those that its skill may read.

    A function of this program may read whatever it is told to in words that nobody can tell the file of.
    """
    cell = attempt.known.cell
    if cell is None:
        return frozenset() if named.is_all else frozenset({"/"})
    return _folders((*cell.rights.read, *cell.rights.write))


def _folders(rights: Iterable[str]) -> frozenset[str]:
    return frozenset(path.removesuffix("/**") for path in rights)
