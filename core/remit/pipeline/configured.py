"""Parts of a pipeline as a deployment configures them."""

from __future__ import annotations

from pathlib import Path

from remit.deployment.config import Config
from remit.evidence.checkpoints import Checkpoints
from remit.evidence.keys import STANDARD
from remit.pipeline.notify import Notifier
from remit.pipeline.redact import Redactor
from remit.state.store import State
from remit.telemetry.telemetry import Telemetry


def redactor_of(config: Config) -> Redactor:
    """Return what `[log]` says must not be stored."""
    log = config.log
    return Redactor(fields=log.redact, kinds=log.redact_kinds, shapes=log.redact_shapes)


def notifier_of(config: Config, folder: Path) -> Notifier:
    """Return who is told, as `[notify]` says, of calls that wait for a person in the deployment in `folder`."""
    return Notifier(folder=folder, **dict(config.notify))


def checkpoints_of(config: Config, state: State) -> Checkpoints:
    """Return what signs the log as `[log]` says."""
    return Checkpoints(state, key=config.log.key or STANDARD, every=config.log.checkpoint_every)


def telemetry_of(config: Config, redactor: Redactor) -> Telemetry:
    """Return what `[telemetry]` says about exporting; where it names an exporter, OpenTelemetry is set up.

    Raises:
        DeploymentError: the exporter that it names is not installed.
    """
    telemetry = config.telemetry
    if telemetry.export != "none":
        from remit.telemetry.setup import set_up

        set_up(telemetry.export)
    return Telemetry(
        content=telemetry.content,
        older_metrics=telemetry.older_metrics,
        hide=redactor.text,
        hide_value=redactor.value,
    )
