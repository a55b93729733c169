"""`AgentSpec`: an agent that a program lets others delegate to, in code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.loop.guards import Limits
    from remit.models.protocol import Model


@dataclass(frozen=True, kw_only=True)
class AgentSpec:
    """An agent to which others may give tasks; `[agents.NAME]` of `remit.toml` says the same in a file.

    ```python
    Agent(skills=[search, add], agents=[AgentSpec(name="finder", description="Finds prices.", skills=["local.search"])])
    ```

    Attributes:
        name: lower case letters and digits, single `_` or `-` between them.
        description: what it is for; the models of those that may delegate to it read this.
        prompt: its system prompt; None for the standard one.
        skills: names of the skills or packs that it may use, of those that who asks it may use; None for all of them.
        agents: names of the agents that it may delegate to in its turn.
        only_delegates: it calls no skill itself; `skills` are what those that it asks can be given.
        model: a model, or the name of one; None for the one of who asks it.
        limits: of one run of it; what is left of the run that asked it is a ceiling in any case.
        grant: pack to what of it this agent is given (`{"files": {"fs.read": ["${workspace}/docs/**"]}}`); only with a
            deployment, and never more than who asks it has.
    """

    name: str
    description: str
    prompt: str | None = None
    skills: Sequence[str] | None = None
    agents: Sequence[str] = ()
    only_delegates: bool = False
    model: Model | str | None = None
    limits: Limits | None = None
    grant: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
