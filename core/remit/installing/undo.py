"""Installs inspected wheels and uninstalls distributions, and puts everything back when something fails on the way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from remit.deployment.files import DeploymentFiles
from remit.errors import RemitError, RunError
from remit.installing import pip
from remit.installing.closure import Closure, targets
from remit.installing.environment import Environment, Installed
from remit.installing.journal import Intent, Journal, of_deployment
from remit.installing.since import made
from remit.installing.turn import one_at_a_time
from remit.installing.wheels_only import written


@contextmanager
def installed(
    environment: Environment,
    closure: Closure,
    wheels: Path,
    *,
    files: DeploymentFiles,
    planned: Sequence[DeploymentFiles] = (),
) -> Iterator[None]:
    """Install a closure from the folder `wheels`; when the block then fails, the environment is as it was.

    A process that dies on the way leaves a note of what it was about, with which the next command undoes it.

    Args:
        environment: into which.
        closure: what is installed.
        wheels: its folder.
        files: of the deployment, as they are.
        planned: as the block will write them, one after the other.

    Raises:
        RunError: what failed, and what was rolled back.
    """
    names = ", ".join(f"{wheel.distribution} {wheel.version}" for wheel in closure.wheels)
    intent = Intent(
        what=f"install {names}" if names else "enable packs",
        prefix=str(environment.prefix),
        site=str(environment.site),
        targets=tuple(path for wheel in closure.wheels for path in targets(wheel, environment)),
        infos=tuple(str(environment.site / wheel.dist_info) for wheel in closure.wheels),
        **of_deployment(files, planned),
    )
    back = ", ".join(f"{one.shown} {one.version}" for one in closure.replaced.values())
    said = f"{names} taken away{f', {back} put back' if back else ''}" if names else ""
    with _undone(environment, intent, closure.replaced.values(), said) as journal:
        if closure.wheels:
            pip.install(environment, closure.pins, wheels, journal=journal.folder)
        yield


@contextmanager
def uninstalling(
    environment: Environment,
    names: Sequence[str],
    *,
    files: DeploymentFiles,
    planned: Sequence[DeploymentFiles] = (),
) -> Iterator[None]:
    """Run the block, then uninstall distributions; when either fails or the process dies, all is as it was.

    Args:
        environment: from which.
        names: folded names.
        files: of the deployment, as they are.
        planned: as the block will write them.

    Raises:
        RunError: what failed, and what was rolled back.
    """
    here = environment.installed()
    going = [here[name] for name in names if name in here]
    shown = ", ".join(f"{one.shown} {one.version}" for one in going)
    intent = Intent(
        what=f"remove {shown}" if shown else "disable packs",
        prefix=str(environment.prefix),
        site=str(environment.site),
        **of_deployment(files, planned),
    )
    with _undone(environment, intent, going, f"{shown} put back" if shown else "") as journal:
        yield
        if names:
            pip.uninstall(environment, names, journal=journal.folder)


@contextmanager
def _undone(environment: Environment, intent: Intent, going: Iterable[Installed], said: str) -> Iterator[Journal]:
    there = written([str(one.folder) for one in going])
    intent = replace(intent, going=there, made=made(intent.prefix))
    inside = str(environment.prefix) + os.sep
    paths = [path for one in going for path in one.files if path.startswith(inside) and os.path.lexists(path)]
    with one_at_a_time():
        journal = Journal()
        with journal.keeping(intent, paths) as kept:
            try:
                yield journal
            except RemitError as error:
                journal.put_back(kept)
                if not said:
                    raise
                rolled = f"rolled back: {said}; the environment is as it was"
                raise RunError(f"{error.message}\n{rolled}", remedy=error.remedy) from error
            except BaseException:
                journal.put_back(kept)
                raise
