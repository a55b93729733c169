"""Other people's code that would load into the host by itself: named in the deployment, or refused."""

from __future__ import annotations

import os

from remit.deployment.config import ExtensionsConfig
from remit.errors import DeploymentError

_SWITCH = "PYDANTIC_DISABLE_PLUGINS"


def check_plugins(extensions: ExtensionsConfig) -> None:
    """Refuse pydantic plugins that the deployment does not name, and extensions, which cannot load yet.

    pydantic imports every entry point of its group when the first model is made, unless
    `PYDANTIC_DISABLE_PLUGINS` is set, as the command line does.

    Raises:
        DeploymentError: with the name of the plugin and of its distribution.
    """
    if extensions.enabled:
        raise DeploymentError(
            f"extensions.enabled names {', '.join(extensions.enabled)}: this version of Remit loads no extensions",
            remedy="remove them from [extensions] in remit.toml",
        )
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
