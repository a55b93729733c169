"""Other people's code in the host: what the deployment names is loaded, what would load by itself is refused."""

from __future__ import annotations

import os
from collections.abc import Sequence

from remit.deployment.config import Config, ExtensionsConfig
from remit.deployment.files import DeploymentFiles
from remit.deployment.source import CONFIG_NAME, line_of
from remit.errors import DeploymentError
from remit.extensions.extensions import Extensions

_SWITCH = "PYDANTIC_DISABLE_PLUGINS"


def open_extensions(
    config: Config, files: DeploymentFiles, *, principal: str, paths: Sequence[str] | None = None, off: bool = False
) -> Extensions:
    """Load the extensions that an accepted deployment enables.

    Args:
        config: what holds, all layers together.
        files: of the deployment; its lock says what was accepted of each.
        principal: for whom it is open.
        paths: site folders; None for this interpreter's own.
        off: switch all off for this run.

    Raises:
        DeploymentError, UsageError: as `remit.extensions.load.load_extensions`.
    """
    from remit.extensions.load import Wanted, load_extensions

    own = config.extensions

    def where(name: str) -> str:
        keys = ("enabled", "required", "blocked", "settings")
        key = next((key for key in keys if name in getattr(files.config.config.extensions, key)), "enabled")
        line = line_of(files.config.text, ("extensions", key))
        return f"{CONFIG_NAME}:{line}" if line else CONFIG_NAME

    wanted = Wanted(
        enabled=own.enabled,
        required=own.required,
        blocked=own.blocked,
        signoff=own.signoff,
        memory=config.memory.store if config.memory.facts else "",
        settings=own.settings,
        folder=files.folder,
        principal=principal,
        where=where,
    )
    return load_extensions(wanted, files.lock.extensions, paths=paths, off=off)


def check_plugins(extensions: ExtensionsConfig) -> None:
    """Refuse pydantic plugins that the deployment does not name.

    pydantic imports every entry point of its group when the first model is made, unless
    `PYDANTIC_DISABLE_PLUGINS` is set, as the command line does.

    Raises:
        DeploymentError: with the name of the plugin and of its distribution.
    """
    off = os.environ.get(_SWITCH, "")
    if off in ("__all__", "1", "true"):
        return
    skipped = {name.strip() for name in off.split(",")}
    from importlib.metadata import entry_points

    for entry in entry_points(group="pydantic"):
        if entry.name not in extensions.pydantic_plugins and entry.name not in skipped:
            source = entry.dist.name if entry.dist else "an unknown distribution"
            raise DeploymentError(
                f"the pydantic plugin {entry.name} of {source} loads into this process by itself",
                remedy=f'allow it with [extensions] pydantic_plugins = ["{entry.name}"], or set {_SWITCH}=__all__',
            )
