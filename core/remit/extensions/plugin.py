"""One extension, with a plugin manager to itself: what it gives, raises or wraps stays its own."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

import pluggy

from remit.extensions import hookspecs
from remit.extensions.importing import Broken
from remit.extensions.installed import InstalledExtension
from remit.extensions.values import Setup
from remit.extensions.wording import described


class Plugin:
    """An extension that was imported and whose hooks were checked.

    Attributes:
        installed: where it comes from.
        setup: what its hooks are told.
        hooks: names of the hooks that it implements.
    """

    def __init__(self, installed: InstalledExtension, plugin: object, setup: Setup) -> None:
        """Check the hooks of `plugin`.

        Raises:
            Broken: it implements a hook that there is not, with arguments that there are not, or none at all.
        """
        self.installed = installed
        self.setup = setup
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        try:
            self._manager.register(plugin, name=installed.name)
            self._check_names()
            self._manager.check_pending()
            self._check_plain()
        except Broken:
            raise
        except Exception as error:
            raise Broken(f"its hooks do not fit: {described(error)}", remedy="docs/extensions.md lists them") from error
        self.hooks = tuple(name for name in hook_names() if getattr(self._manager.hook, name).get_hookimpls())
        if not self.hooks:
            raise Broken("it implements no hook", remedy="mark its functions: from remit.extensions import hookimpl")

    @property
    def name(self) -> str:
        """The extension's name."""
        return self.installed.name

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """Call its implementations of `hook`. Raises what they raise."""
        results: list[Any] = getattr(self._manager.hook, hook)(**arguments, setup=self.setup)
        return results

    def _check_plain(self) -> None:
        for name in hook_names():
            for one in getattr(self._manager.hook, name).get_hookimpls():
                if inspect.iscoroutinefunction(one.function):
                    raise Broken(f"its hook {name} is async, and would never run", remedy="write a plain function")

    def _check_names(self) -> None:
        hooks = vars(self._manager.hook)
        for name in [name for name in hooks if not name.startswith("_") and not hooks[name].has_spec()]:
            if all(one.optionalhook for one in hooks[name].get_hookimpls()):
                continue
            close = difflib.get_close_matches(name, hook_names(), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise Broken(f"it implements {name}, which is no hook{hint}", remedy="docs/extensions.md lists them")


def hook_names() -> tuple[str, ...]:
    """Return the names of all hooks."""
    return tuple(name for name in vars(hookspecs) if name.startswith(("add_", "observe_")))
