"""Asks the environment's own pip, and turns what it answers into plain words.

pip finds indexes, folders, proxies and passwords in its own configuration. Remit adds only what makes it safe: wheels
alone, nothing built (see `wheels_only`), and an installation step that reads no configuration at all.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remit.errors import PackError, RunError
from remit.installing.environment import Environment
from remit.installing.turn import descriptors

QUIETLY = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar", "off")
_DRIVER = Path(__file__).with_name("wheels_only.py")
_REDIRECTED = ("TARGET", "PREFIX", "ROOT", "USER", "REPORT", "DRY_RUN", "NO_DEPS", "SRC", "BUILD", "PYTHON", "QUIET")
_LONGEST = 1500


def resolve(
    environment: Environment,
    wanted: Sequence[str],
    *,
    constraints: Iterable[str] = (),
    upgrade: bool = False,
    again: bool = False,
) -> list[dict[str, Any]]:
    """Return what pip would install, item by item as its installation report writes it; nothing is installed.

    Args:
        environment: for which; what is installed there already is not listed.
        wanted: requirements, and paths of wheels.
        constraints: `name==version` for what may be needed.
        upgrade: prefer newer versions of `wanted` to installed ones.
        again: list `wanted` alone, and even when they are installed.

    Raises:
        PackError: no wheels satisfy this; the message says which are missing, and what to do.
        RunError: pip cannot be run.
    """
    with TemporaryDirectory(prefix="remit-") as folder:
        pins, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        pins.write_text("".join(f"{line}\n" for line in constraints))
        how = ["--constraint", str(pins), *(["--upgrade"] if upgrade else [])]
        how += ["--force-reinstall", "--no-deps"] if again else []
        run(environment, "install", "--dry-run", "--report", str(report), *how, "--", *wanted, folder=folder)
        return _items(report)


def _items(report: Path) -> list[dict[str, Any]]:
    try:
        items = json.loads(report.read_bytes())["install"]
        return [item for item in items if item["metadata"]["name"] and item["download_info"]["url"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"pip's report cannot be read ({error!a})", remedy="python -m pip install --upgrade pip"
        ) from None


def offers(environment: Environment, name: str) -> bool:
    """Tell whether pip finds any wheel of a distribution where it looks for packages."""
    order = [environment.python, "-P", str(_DRIVER), "index", "versions", *QUIETLY[:4], "--pre"]
    order += ["--only-binary", ":all:", name]
    with TemporaryDirectory(prefix="remit-") as folder:
        return _started(order, os.environ, folder).returncode == 0


def download(environment: Environment, pinned: Sequence[str], folder: Path) -> None:
    """Download wheels, written as `name==version --hash=sha256:...`, into `folder`; nothing else comes with them."""
    listed = folder / "wanted.txt"
    listed.write_text("".join(f"{line}\n" for line in pinned))
    run(environment, "download", "--no-deps", "--dest", str(folder), "--requirement", str(listed), folder=str(folder))
    listed.unlink()


def run(environment: Environment, command: str, *arguments: str, folder: str) -> None:
    """Run a command of pip that fetches: wheels only, and no program is started.

    Raises:
        PackError, RunError: as `resolve`.
    """
    order = [environment.python, "-P", str(_DRIVER), command, *QUIETLY, "--only-binary", ":all:", *arguments]
    kept = {name: value for name, value in os.environ.items() if name.removeprefix("PIP_") not in _REDIRECTED}
    done = _started(order, kept, folder)
    if done.returncode:
        raise _explained(environment, done.stderr, folder, kept)


def install(environment: Environment, wheels: Mapping[str, str], folder: Path, *, journal: Path) -> None:
    """Install wheels that lie in `folder` and have been inspected: these very files and nothing else.

    Args:
        environment: into which.
        wheels: `name==version` to the SHA-256 of its wheel, as hex digits.
        folder: has these wheels and no others.
        journal: folder of the journal, in which it is noted what pip did.

    Raises:
        RunError: pip failed; some of the wheels may be installed.
    """
    listed = folder / "inspected.txt"
    listed.write_text("".join(f"{name} --hash=sha256:{digest}\n" for name, digest in wheels.items()))
    alone = ("--isolated", "--no-index", "--no-deps", "--require-hashes", "--only-binary", ":all:")
    where = ("--find-links", str(folder), "--force-reinstall", "--requirement", str(listed))
    order = [environment.python, "-P", str(_DRIVER), "install", *QUIETLY, *alone, *where]
    done = _started(order, _unconfigured(journal), str(folder))
    listed.unlink()
    if done.returncode:
        raise RunError(f"pip could not install what was inspected: {_last_lines(done.stderr)}")


def uninstall(environment: Environment, names: Iterable[str], *, journal: Path) -> None:
    """Uninstall distributions; `journal` as for `install`.

    Raises:
        RunError: pip failed, or one of them is still there.
    """
    wanted = list(names)
    order = [environment.python, "-P", str(_DRIVER), "uninstall", "--isolated", "--yes"]
    order += [*QUIETLY[:4], "--", *wanted]
    done = _started(order, _unconfigured(journal), str(environment.prefix))
    left = sorted({*wanted} & {*environment.installed()})
    if done.returncode or left:
        why = _last_lines(done.stderr) or f"{', '.join(left)} lies outside {environment.prefix}"
        raise RunError(f"pip could not uninstall {', '.join(wanted)}: {why}")


def _unconfigured(journal: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_ROOT_USER_ACTION": "ignore", "REMIT_JOURNAL": str(journal)}


def _started(order: Sequence[str], environment: Mapping[str, str], folder: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            order,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            pass_fds=descriptors(),
        )
    except OSError as error:
        raise RunError(f"pip cannot be run with {order[0]}: {error.strerror}", remedy="remit doctor") from None


def _explained(environment: Environment, said: str, folder: str, variables: Mapping[str, str]) -> PackError | RunError:
    """Say what pip's error means for somebody who adds packs."""
    if "No module named pip" in said:
        return RunError(f"{environment.python} has no pip", remedy="python -m ensurepip --upgrade")
    if "no such option" in said:
        return RunError("this pip is too old to report what it would install", remedy="pip install --upgrade pip")
    if "would have to be built" in said:
        return PackError(
            f"a source distribution stands in the way, and nothing is built here: {_last_lines(said)}",
            remedy="ask its author for a wheel, or build one where its code may run: pip wheel --no-deps NAME",
        )
    name = _missing(said)
    if name:
        return _no_wheel(environment, name, said, folder, variables)
    return PackError(f"pip found no way: {_last_lines(said)}")


def _missing(said: str) -> str:
    """Return the requirement that pip found nothing for, empty when the trouble is another."""
    mark = "No matching distribution found for "
    line = next((line for line in said.splitlines() if mark in line), "")
    return line.partition(mark)[2].partition(" (from")[0].strip()


def _no_wheel(environment: Environment, wanted: str, said: str, folder: str, variables: Mapping[str, str]) -> PackError:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        name = Requirement(wanted).name
    except InvalidRequirement:
        return PackError(f"pip found no way: {_last_lines(said)}")
    order = [environment.python, "-P", str(_DRIVER), "index", "versions", *QUIETLY[:4], "--no-binary", ":all:", name]
    if _started(order, variables, folder).returncode == 0:
        return PackError(
            f"there is no wheel of {wanted} for this Python, only a source distribution, which would run code "
            "to be installed",
            remedy=f"ask its author for a wheel, or build one where its code may run: pip wheel --no-deps {name}\n"
            f"then: remit packs add ./{name.replace('-', '_')}-VERSION-py3-none-any.whl",
        )
    return PackError(
        f"pip finds no {wanted} where it looks for packages",
        remedy="check the name and version; indexes and folders are pip's own configuration: pip config list",
    )


def _last_lines(said: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.strip()]
    return " ".join(lines[-4:])[-_LONGEST:]
