"""Every hook that an extension may implement, in one place. docs/extensions.md has an example of each that runs.

`add_...` hooks are called once, when a deployment opens, and return what the extension gives by name.
`observe_...` hooks are told what happens and cannot change it. No hook decides anything: verdicts are core code.
An implementation may leave out arguments that it does not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from remit.dialects.form import Dialect
    from remit.extensions.values import (
        AuditSink,
        CallEnd,
        CallStart,
        MemoryStore,
        ModelProvider,
        RunState,
        SecretProvider,
        Setup,
        SignoffChannel,
    )

PROJECT = "remit"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of an extension as the implementation of the hook of its name."""


@hookspec
def add_model_providers(setup: Setup) -> Mapping[str, ModelProvider]:  # type: ignore[empty-body]
    """Give makers of models: `[model] provider = "NAME"`, or `NAME:MODEL` where a model is named, asks for one."""


@hookspec
def add_dialects(setup: Setup) -> Mapping[str, Dialect]:  # type: ignore[empty-body]
    """Give dialects, ways in which models write calls in text: `dialect = "NAME"`, and `auto` knows their marks."""


@hookspec
def add_secret_providers(setup: Setup) -> Mapping[str, SecretProvider]:  # type: ignore[empty-body]
    """Give places of secrets: `NAME:WHERE` is a reference to a secret wherever `env:NAME` is one."""


@hookspec
def add_signoff_channels(setup: Setup) -> Mapping[str, SignoffChannel]:  # type: ignore[empty-body]
    """Give channels over which a person is asked: `[extensions] signoff = "NAME"` chooses one."""


@hookspec
def add_audit_sinks(setup: Setup) -> Mapping[str, AuditSink]:  # type: ignore[empty-body]
    """Give further places for the log: each gets every record after it was written to `state.db`."""


@hookspec
def add_memory_stores(setup: Setup) -> Mapping[str, MemoryStore]:  # type: ignore[empty-body]
    """Give places for the key facts of people: `[memory] store = "NAME"` chooses one instead of `state.db`."""


@hookspec
def add_prompt_fragments(setup: Setup) -> Mapping[str, str]:  # type: ignore[empty-body]
    """Give texts that stand at the end of the system prompt, in the order of their names."""


@hookspec
def observe_call_start(call: CallStart, setup: Setup) -> None:
    """Be told that a call is about to run: it was decided, signed off where that was needed, and recorded."""


@hookspec
def observe_call_end(call: CallEnd, setup: Setup) -> None:
    """Be told how a call ended, also one that was refused and did not run."""


@hookspec
def observe_run_state(run: RunState, setup: Setup) -> None:
    """Be told that a run goes from one state into another: it thinks, acts, waits, or has ended."""
