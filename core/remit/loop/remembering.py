"""What a run has to do with key facts: what a new session begins with, and what a value that is written rests on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.skills import Skill

if TYPE_CHECKING:
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment
    from remit.extensions.extensions import Extensions
    from remit.memory.memory import Memory
    from remit.memory.skills import Basis
    from remit.models.protocol import Message
    from remit.pipeline.redact import Redactor
    from remit.state.store import State

_FIRST = 3
"""Messages among which it stands that something is remembered: before it is at most a mark or a summary."""

_PARTS = re.compile(r"[^\W_]+")
"""The words of a name."""

PATIENCE = 10.0
"""Seconds that a memory store may take at the start of a session."""


def memory_for(
    config: Config, extensions: Extensions, state: State, redactor: Redactor, who: str, *, always: bool = False
) -> Memory | None:
    """Return the memory of one person; None where the deployment does not switch it on.

    A store of an extension is not there while extensions are off: then nothing is remembered, nowhere else either.

    Args:
        config: of the deployment.
        extensions: that are loaded.
        state: of the deployment.
        redactor: what it hides is not remembered.
        who: of whom.
        always: also where it is switched off: a person sees and removes what is kept.
    """
    if not (config.memory.facts or always):
        return None
    from remit.memory.kept import StateFacts
    from remit.memory.memory import Memory

    own = partial(Memory, config=config.memory, state=state, redactor=redactor, who=who)
    if not config.memory.store:
        return own(StateFacts(state))
    item = extensions.memory_store(config.memory.store)
    return None if item is None else own(item.value, where=item.name, given_by=item.extension)


def remembering(memory: Memory | None, state: State, *, read_only: bool) -> dict[str, Skill]:
    """Return the host skills that write facts; none where nothing is remembered."""
    if memory is None:
        return {}
    from remit.memory.skills import memory_skills

    return memory_skills(memory, basis_in(state), withheld=read_only)


def writing_skills(deployment: Deployment, state: State) -> dict[str, Skill]:
    """Return the host skills that write facts in a deployment, as its agents have them; to be looked at."""
    from remit.pipeline.redact import Redactor

    memory = memory_for(deployment.config, deployment.extensions, state, Redactor(), deployment.principal)
    return remembering(memory, state, read_only=bool(deployment.read_only))


def basis_in(state: State) -> Callable[[str, Any, str], Basis]:
    """Return what tells, of a session, a value and a name that its model gave, what they rest on.

    The transcript that is saved before the calls of a step are made says it. A value that the person said themselves
    rests on nothing else; any other has the labels of everything that the session had read. A name whose words are not
    all the person's may say what a stranger wants said.
    """
    from remit.loop.sources import Sources
    from remit.loop.summaries import labels_of
    from remit.loop.transcript import Transcript
    from remit.memory.skills import Basis

    def basis(session: str, value: Any, name: str) -> Basis:
        saved = state.load_session(session)
        if saved is None:
            return Basis(labels=frozenset({"untrusted"}))
        messages = Transcript.from_json(saved.transcript).messages
        read = labels_of(messages)
        words = Sources().follow(messages).words
        said = all(words.name(one) for one in (value if isinstance(value, list) else [value]))
        named = all(words.name(one) for one in _PARTS.findall(name))
        kept = read if not said else frozenset() if named else read & {"untrusted"}
        return Basis(labels=kept, own_words=said and "untrusted" not in read)

    return basis


async def opening_of(memory: Memory | None, state: State, session: str) -> tuple[Mapping[str, Any], ...]:
    """Return the messages that a new session begins with: what is remembered, as far as it fits.

    A store of an extension that fails is recorded as `extension.failed`; the session begins without it.

    Raises:
        StateError: `state.db` itself cannot be read.
    """
    if memory is None:
        return ()
    from remit.extensions.extensions import record_fault
    from remit.extensions.values import Fault
    from remit.memory.meanwhile import LOADED
    from remit.memory.memory import OWN_STORE
    from remit.memory.message import opening

    if memory.where == OWN_STORE:
        facts = memory.facts()
    else:
        try:
            facts = await asyncio.wait_for(asyncio.to_thread(memory.facts), PATIENCE)
        except (StateError, TimeoutError) as error:
            why = getattr(error, "message", f"it took longer than {PATIENCE:g} s")
            doing = f"facts of memory store {memory.where}"
            record_fault(state, Fault(extension=memory.given_by, doing=doing, error=why))
            return ()
    told = opening(facts, memory.config.budget)
    if told is None:
        return ()
    body = {"facts": told.facts, "left_out": told.left_out, "labels": list(told.message.labels), "store": memory.where}
    state.append(LOADED, session=session, who=memory.who, body=body, durable=False)
    return (told.message.to_json(),)


def with_memory_joined(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages with what is remembered in front of what the person says, in one message.

    Many endpoints take no two messages of a user in a row.
    """
    at = next((number for number, message in enumerate(messages[:_FIRST]) if message.origin == "memory"), None)
    if at is None or at + 1 >= len(messages) or messages[at + 1].role != "user":
        return messages
    memory, said = messages[at], messages[at + 1]
    both = replace(said, content=f"{memory.content}\n\n{said.content}")
    return (*messages[:at], both, *messages[at + 2 :])
