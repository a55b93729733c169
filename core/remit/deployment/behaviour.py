"""`[model.behaviour]`: the table that says what a model takes, made from the list of what can be said."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import create_model

from remit.deployment.closed import Closed
from remit.models.behaviour import Behaviour

ELSEWHERE = ("native_calls", "context_length")
"""What `remit.toml` says by other keys: `dialect`, and `context_length` directly under `[model]`."""

if TYPE_CHECKING:

    class BehaviourConfig(Closed):
        """What is said here counts before the table that comes with Remit; what is not is taken from there."""

else:
    _types = get_type_hints(Behaviour)
    _keys: dict[str, Any] = {
        one.name: (_types[one.name], one.default) for one in fields(Behaviour) if one.name not in ELSEWHERE
    }
    BehaviourConfig = create_model("BehaviourConfig", __base__=Closed, **_keys)
