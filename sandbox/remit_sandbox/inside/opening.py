"""From the first frame to an imported pack."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit_sandbox.inside.context import Context
from remit_sandbox.inside.from_source import import_from_source
from remit_sandbox.inside.results import LENGTH
from remit_sandbox.inside.signature import NoHandler
from remit_sandbox.inside.wording import Wording


@dataclass(frozen=True, kw_only=True)
class OpenPack:
    """The pack that this cell serves.

    Attributes:
        package: its top-level package.
        surroundings: what the `Context` of every call holds.
        wording: puts errors into words.
        limit: the longest result in bytes of JSON.
    """

    package: str
    surroundings: Context
    wording: Wording
    limit: int = LENGTH

    def context(
        self, session: str, call: str, report: Callable[[str], None], traceparent: str = "", key: str = ""
    ) -> Context:
        """Return the context of one call."""
        return self.surroundings.again(session, call, report, traceparent, key)

    def load(self, reference: str) -> Callable[..., Any]:
        """Return the function behind `package.module:function`.

        Raises:
            NoHandler: it lies outside the package, or is no function.
            Exception: whatever its module raises at import.
        """
        module_name, _, path = reference.partition(":")
        if module_name.partition(".")[0] != self.package or not path:
            raise NoHandler(f"the handler {reference!r} lies outside the pack's package {self.package!r}")
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name, None)
        if not callable(found):
            raise NoHandler(f"{module_name!r} has no function {path!r}")
        function: Callable[..., Any] = found
        return function


def prepare_process(frame: Mapping[str, Any], tmp: str) -> None:
    """Set environment, working directory, import paths and built-in names as `frame` says.

    The environment has been scrubbed by the supervisor; the frame adds to it.
    """
    os.environ.update(frame["env"])
    os.chdir(frame.get("cwd") or frame.get("workspace") or tmp)
    tempfile.tempdir = None
    if hasattr(time, "tzset"):
        time.tzset()
    _extend_path(frame["paths"])
    _restore_builtins()
    sys.argv = [frame["package"]]


def wording_for(frame: Mapping[str, Any], tmp: str) -> Wording:
    """Return the words for errors of the pack in `frame`; they show no folder of this machine."""
    places = [
        (frame.get("workspace") or "", "${workspace}"),
        (frame.get("data") or "", "${data}"),
        (tmp, "${tmp}"),
        (frame.get("location") or "", "<pack>"),
        (os.path.dirname(os.__file__), "<python>"),
        (sys.prefix, "<python>"),
        *((path, "<site>") for path in frame["paths"]),
    ]
    return Wording(folder=package_folder(frame), places=places, secrets=frame["secrets"])


def open_pack(frame: Mapping[str, Any], tmp: str, wording: Wording) -> OpenPack:
    """Import the pack and return what serves it.

    Raises:
        BaseException: whatever the package raises at import.
    """
    import_from_source(frame["package"], frame.get("location"), frame.get("digests"))
    surroundings = Context(
        settings=frame["settings"],
        secrets=frame["secrets"],
        workspace=frame.get("workspace"),
        data=frame.get("data"),
        tmp=tmp,
        readable=frame.get("readable") or (),
    )
    limit = frame.get("result_limit") or LENGTH
    return OpenPack(package=frame["package"], surroundings=surroundings, wording=wording, limit=limit)


def package_folder(frame: Mapping[str, Any]) -> str | None:
    """Return where the package lies, without importing it."""
    places = [frame["location"]] if frame.get("location") else sys.path
    for place in places:
        folder = os.path.join(place.rstrip("/"), frame["package"])
        if os.path.isfile(f"{folder}/__init__.py"):
            return folder
    return "/nowhere"


def _extend_path(paths: Sequence[str]) -> None:
    sys.path[:] = [place for place in sys.path if place]
    sys.path.extend(path for path in paths if path not in sys.path)
    importlib.invalidate_caches()


def _restore_builtins() -> None:
    """Give back `exit`, `quit` and `help`, which `-S` leaves out."""
    import _sitebuiltins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    builtins.help = _sitebuiltins._Helper()
