"""Runs the command line as a person does, in a process of its own, and in deployments that tests share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def remit(
    *arguments: str,
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    expect: int | None = 0,
) -> Ran:
    """Run `remit` with these arguments in `folder`; check its exit code unless `expect` is None."""
    done = subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=100,
        env={**os.environ, **(environment or {})},
    )
    ran = Ran(code=done.returncode, out=done.stdout.decode(errors="replace"), err=done.stderr.decode(errors="replace"))
    assert "Traceback" not in ran.err or "try" in arguments, ran.err
    if expect is not None:
        assert ran.code == expect, (arguments, ran)
    return ran


def deployment(folder: Path, *packs: str) -> Path:
    """Make a deployment that runs wherever tests run, with these installed packs enabled."""
    remit("init", "--yes", "--enforcement", "available", "--packs", ",".join(packs), folder=folder)
    return folder


@dataclass(frozen=True, kw_only=True)
class Home:
    """A deployment of its own with a state and a site folder of its own, for several tests to share."""

    folder: Path
    environment: Mapping[str, str]

    def remit(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        expect: int | None = 0,
    ) -> Ran:
        """Run `remit` here, in this process, which takes a tenth of the time."""
        from tests import in_process

        own = {**self.environment, **(environment or {})}
        return in_process.remit(*arguments, folder=self.folder, stdin=stdin, environment=own, expect=expect)

    def program(self, *arguments: str, environment: Mapping[str, str] | None = None, expect: int | None = 0) -> Ran:
        """Run `remit` here as a person does, in a process of its own."""
        own = {**self.environment, **(environment or {})}
        return remit(*arguments, folder=self.folder, environment=own, expect=expect)

    @property
    def workspace(self) -> Path:
        """The folder that packs may be given."""
        return self.folder / "workspace"

    def configure(self, old: str, new: str) -> None:
        """Replace text of `remit.toml`, and accept the file."""
        path = self.folder / "remit.toml"
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new))
        self.remit("trust", "--yes")

    def spoken(self, base_url: str, *, dialect: str = "native") -> Home:
        """Let this deployment speak to the endpoint at `base_url`."""
        model = f'[model]\nname = "m"\nbase_url = "{base_url}"\ndialect = "{dialect}"\n'
        self.configure("[model]\n", model)
        return self


def bare(place: Path, *fixtures: str) -> Home:
    """Return a place without a deployment, where the named fixture packs are installed."""
    from tests.packaging import build_site

    (place / "deployment").mkdir()
    site = build_site(place, *fixtures).rename(place / "site-packages")
    environment = {"REMIT_STATE": str(place / "state"), "PYTHONPATH": str(site)}
    return Home(folder=place / "deployment", environment=environment)


def home(place: Path, *packs: str, fixtures: Sequence[str] = ()) -> Home:
    """Return a deployment in `place` with these packs enabled; `fixtures` are installed there first."""
    made = bare(place, *fixtures)
    made.remit("init", "--yes", "--enforcement", "available", "--packs", ",".join(packs))
    return made
