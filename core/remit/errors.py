"""Errors of Remit, by who can act on them.

RemitError
├── SetupError            the author's or deployer's mistake
│   ├── UsageError        a command or call was used wrongly (exit code 2)
│   │   └── SessionWaits  a question in a session in which a call waits for a sign-off, or approved for its run
│   ├── ManifestError     a pack's manifest is missing or wrong
│   ├── SchemaError       a skill's JSON Schema is outside the accepted set
│   ├── PackError         a pack cannot be used
│   │   └── UnknownPack   no installed pack has this name (exit code 2)
│   ├── DeploymentError   remit.toml is missing or wrong
│   │   └── NotTrusted    nobody has accepted this deployment yet
│   ├── LockError         remit.lock is missing, unreadable or does not fit
│   └── PolicyError       a rule or grant that must not load
├── RunError              a run failed through no fault of the model
│   ├── ModelError        the model's endpoint is down, refuses, or answers rubbish
│   │   └── EndpointDown  it cannot be reached, or kept failing; another one may answer
│   ├── NotRecorded       a replay lacks a call, or a recording cannot take it
│   ├── EnforcementError  this machine cannot confine skills as the deployment demands
│   ├── StateError        state.db cannot be read or written
│   └── EvidenceError     the log, a key, an anchor or a proof does not hold
└── ToldError             what the model is told, as a result
    ├── InvalidCall       unknown skill or arguments that do not fit
    └── DeniedCall        policy or a person refused
"""

from __future__ import annotations


class RemitError(Exception):
    """Base of every error that Remit raises on purpose.

    As text it is the message followed by the remedy, so that a traceback shows both.

    Attributes:
        message: what happened, to which pack and skill.
        remedy: what to do next, one line or command; empty when there is nothing to add.
        exit_code: the exit code of the command line (see README, "Exit codes").
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} (next: {self.remedy})" if self.remedy else self.message


class SetupError(RemitError):
    """A mistake of a pack's author or of a deployer."""


class UsageError(SetupError):
    """A command or function was used wrongly."""

    exit_code = 2


class SessionWaits(UsageError):
    """A question was asked in a session in which a call waits for a person or, approved, for its run to go on.

    Attributes:
        session: its id.
        requests: ids of the requests for sign-off that nobody has answered.
    """

    def __init__(self, message: str, *, session: str, requests: tuple[str, ...], remedy: str = "") -> None:
        self.session = session
        self.requests = requests
        super().__init__(message, remedy=remedy)


class ManifestError(SetupError):
    """A `pack.toml` is missing, unreadable, or says something unknown."""


class SchemaError(SetupError):
    """A JSON Schema uses what Remit does not accept from a pack."""


class PackError(SetupError):
    """A pack cannot be used: it collides, is broken, or has drifted from its lock.

    Attributes:
        traceback: the pack's own lines, for its author; empty when none of its code failed.
    """

    def __init__(self, message: str, *, remedy: str = "", traceback: str = "") -> None:
        self.traceback = traceback
        super().__init__(message, remedy=remedy)


class UnknownPack(PackError):
    """No installed pack has this name: it is misspelt, or not installed."""

    exit_code = 2


class DeploymentError(SetupError):
    """A `remit.toml` is missing, unreadable, or says something unknown."""


class NotTrusted(DeploymentError):
    """Nobody has accepted this deployment, as it is now, on this machine yet.

    Attributes:
        exit_code: 4 when a change since widens rights, 5 when it cannot be ranked, else 1.
    """

    def __init__(self, message: str, *, remedy: str = "", exit_code: int = 1) -> None:
        super().__init__(message, remedy=remedy)
        self.exit_code = exit_code


class LockError(SetupError):
    """A `remit.lock` is unreadable or does not fit what is installed."""


class PolicyError(SetupError):
    """A rule or grant that cannot be held, or can never match."""


class RunError(RemitError):
    """A run failed through no fault of the model."""


class ModelError(RunError):
    """The model's endpoint is down, refuses, or answers what cannot be read."""


class EndpointDown(ModelError):
    """The model's endpoint cannot be reached, or failed each time it was asked again."""


class NotRecorded(RunError):
    """What a call of a skill gave is not in the recording that is replayed, or cannot be written into one."""


class EnforcementError(RunError):
    """This machine cannot confine skills as the deployment demands."""


class StateError(RunError):
    """`state.db` cannot be read or written, so nothing may run."""


class EvidenceError(RunError):
    """The log does not hold, or a key, checkpoint, anchor or proof cannot be used."""


class ToldError(RemitError):
    """Something that the model is told as a result; it never ends a run."""


class InvalidCall(ToldError):
    """The call names no known skill, or its arguments do not fit."""

    exit_code = 2


class DeniedCall(ToldError):
    """Policy or a person refused the call."""
