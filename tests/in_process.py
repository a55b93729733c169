"""Runs the command line in this process: many times faster than as a program, with what a person would see."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from remit.cli.main import run
from tests.command import Ran


class _Text(io.TextIOWrapper):
    """A stream as the command line expects it: text over bytes, and no terminal."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="backslashreplace", write_through=True)

    def written(self) -> str:
        """What was written so far."""
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode("utf-8", "replace")


def remit(
    *arguments: str,
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    expect: int | None = 0,
) -> Ran:
    """Run `remit` with these arguments in `folder`, as `tests.command.remit` does in a process of its own.

    What `PYTHONPATH` of the environment names can be imported meanwhile, and is forgotten afterwards.
    """
    out, err = _Text(), _Text()
    variables = {"PYDANTIC_DISABLE_PLUGINS": "__all__", **(environment or {})}
    with _surroundings(folder, variables, stdin, out, err):
        try:
            code = run(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    ran = Ran(code=code, out=out.written(), err=err.written())
    if expect is not None:
        assert ran.code == expect, (arguments, ran)
    return ran


@contextmanager
def _surroundings(folder: Path, variables: Mapping[str, str], stdin: bytes, out: _Text, err: _Text) -> Iterator[None]:
    before, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    sites = [site for site in variables.get("PYTHONPATH", "").split(os.pathsep) if site]
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, variables))
        stack.enter_context(mock.patch.object(sys, "stdin", _Text(stdin)))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.callback(os.chdir, before)
        stack.callback(sys.path.__setitem__, slice(None), path)
        stack.callback(_forget, sites, modules)
        sys.path[:0] = sites
        os.chdir(folder)
        yield


def _forget(sites: Sequence[str], known: Collection[str]) -> None:
    """Forget the modules of these folders: another test has others of the same names."""
    for name in set(sys.modules) - set(known):
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(tuple(sites)):
            del sys.modules[name]


@dataclass(frozen=True, kw_only=True)
class Here:
    """A deployment's folder with a state and a site folder of its own.

    Attributes:
        place: an empty folder for all of it.
        environment: more variables for every command.
    """

    place: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The deployment's folder."""
        return self.place / "deployment"

    @property
    def site(self) -> Path:
        """Where packs are installed."""
        return self.place / "site-packages"

    @property
    def config(self) -> str:
        """The text of `remit.toml`."""
        return (self.folder / "remit.toml").read_text()

    def make(self, *packs: str) -> Here:
        """Make a deployment that runs wherever tests run, with these packs enabled."""
        self.folder.mkdir(exist_ok=True)
        self.site.mkdir(exist_ok=True)
        self.remit("init", "--yes", "--enforcement", "available", "--packs", ",".join(packs))
        return self

    def edit(self, old: str, new: str) -> None:
        """Replace text of `remit.toml`, as somebody with an editor does."""
        assert old in self.config, self.config
        (self.folder / "remit.toml").write_text(self.config.replace(old, new))

    def remit(self, *arguments: str, stdin: bytes = b"", expect: int | None = 0) -> Ran:
        """Run `remit` here."""
        own = {"REMIT_STATE": str(self.place / "state"), "PYTHONPATH": str(self.site), **self.environment}
        return remit(*arguments, folder=self.folder, stdin=stdin, environment=own, expect=expect)
