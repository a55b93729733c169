"""Runs the command line in this process: many times faster than as a program, with what a person would see."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
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
        out, err = _Text(), _Text()
        with self._surroundings(stdin, out, err):
            try:
                code = run(arguments)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
        ran = Ran(code=code, out=out.written(), err=err.written())
        if expect is not None:
            assert ran.code == expect, (arguments, ran)
        return ran

    @contextmanager
    def _surroundings(self, stdin: bytes, out: _Text, err: _Text) -> Iterator[None]:
        before, path = Path.cwd(), list(sys.path)
        variables = {"REMIT_STATE": str(self.place / "state"), "PYDANTIC_DISABLE_PLUGINS": "__all__"}
        with ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, {**variables, **self.environment}))
            stack.enter_context(mock.patch.object(sys, "stdin", _Text(stdin)))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            stack.callback(os.chdir, before)
            stack.callback(sys.path.__setitem__, slice(None), path)
            sys.path.insert(0, str(self.site))
            os.chdir(self.folder)
            yield
