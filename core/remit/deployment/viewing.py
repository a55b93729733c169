"""A deployment as it is for somebody, for as long as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from remit.deployment.deployment import Deployment


@contextmanager
def view_of(deployment: Deployment, principal: str) -> Iterator[Deployment]:
    """Yield a deployment as it is for a person: their own `${data}`, the same packs, policy and extensions.

    Raises:
        DeploymentError, PolicyError: as `Deployment.open`.
    """
    if principal == deployment.principal:
        yield deployment
        return
    view = deployment.acting_for(principal)
    try:
        yield view
    finally:
        view.close()
