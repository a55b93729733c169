"""Where the person's state folder is; imports next to nothing, as every start asks."""

from __future__ import annotations

import os

from remit.errors import DeploymentError

VARIABLE = "REMIT_STATE"


def state_root_path() -> str:
    """Return the person's state folder as text; it need not exist yet.

    `REMIT_STATE` names it, else the platform's usual place is taken.

    Raises:
        DeploymentError: neither gives an absolute path (a user without a home).
    """
    given = os.environ.get(VARIABLE, "").strip()
    root = given or _usual_place()
    if root is None or not os.path.isabs(root):
        what = "there is no home folder to keep it in" if root is None else f"not {root!r}"
        raise DeploymentError(
            f"the state folder must be an absolute path: {what}",
            remedy=f"set {VARIABLE} to an absolute path that only you can write",
        )
    return root


def _usual_place() -> str | None:
    from platformdirs import user_state_path

    try:
        return str(user_state_path("remit", appauthor=False))
    except RuntimeError:
        return None
