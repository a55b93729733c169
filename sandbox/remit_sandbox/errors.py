"""Errors of the sandbox.

SandboxError
├── CannotConfine       the machine lacks what `enforcement = "kernel"` needs
├── CellStartError      a cell did not become ready (its pack's import failed or took too long)
├── SupervisorError     the supervisor could not be started or does not answer
├── ProtocolError       a peer sent a frame that breaks the protocol
└── CalculationError    an expression that is refused, with what to write instead
"""

from __future__ import annotations

from typing import Literal


class SandboxError(Exception):
    """Base of everything that `remit_sandbox` raises on purpose."""


class CannotConfine(SandboxError):
    """The kernel cannot enforce a right that the caller requires to be enforced.

    Attributes:
        missing: what is missing, in words fit for a person, one entry a right.
    """

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing
        super().__init__("this machine cannot confine skills: " + "; ".join(missing))


class CellStartError(SandboxError):
    """A cell did not become ready.

    Attributes:
        pack: name of the pack whose cell it was.
        reason: one line, safe to show; it comes from hostile code and is plain data.
        traceback: the pack's own lines of the traceback, empty when there is none.
        by: `supervisor` when it was not confined and nothing of the pack ran (a granted path is missing, a
            program has changed), `pack` when the pack itself did not start.
    """

    def __init__(
        self, pack: str, reason: str, traceback: str = "", *, by: Literal["supervisor", "pack"] = "pack"
    ) -> None:
        self.by = by
        self.pack = pack
        self.reason = reason
        self.traceback = traceback
        super().__init__(f"pack {pack}: {reason}")


class SupervisorError(SandboxError):
    """The supervisor process could not be started, or went away."""


class ProtocolError(SandboxError):
    """A frame was too long, not msgpack, or not of a known form."""


class CalculationError(SandboxError):
    """An expression that `calculate` refuses; the message says what to write instead."""
