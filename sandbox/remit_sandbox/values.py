"""Values that cross the border between the host and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MiB = 1024 * 1024

Enforcement = Literal["kernel", "available"]
"""`kernel`: refuse what cannot be confined. `available`: run, and say what is not enforced."""

EnforcedBy = Literal["kernel", "broker", "process", "polled", "not enforced"]
"""Who holds a right: the kernel, the host's network broker, the process border, a poll, nobody."""

Isolation = Literal["auto", "warm", "fresh", "process"]
"""How many calls one cell serves.

`warm`: many, of one session; its temporary folder lasts as long as the cell. `fresh`: one, in a cell and a folder
of its own; spares are prepared ahead. `process`: as fresh, and may exec. `auto`: warm while there is room for
every session, fresh beyond that, and where CPU time is limited, which the kernel counts over the life of a cell.
"""

ReplyKind = Literal["result", "invalid", "failed", "timeout", "died", "cancelled"]
"""How a request to a cell ended.

`result`: the handler returned. `invalid`: the arguments do not convert. `failed`: the handler
raised, or returned something that is no JSON. `timeout`: the hard limit passed and the cell was
killed. `died`: the cell ended or broke the protocol without an answer. `cancelled`: the host
gave up waiting and the cell was killed.
"""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one cell. Sizes in bytes, times in seconds.

    Attributes:
        memory: address space above what the cell needs after importing its pack.
        cpu: CPU time of the whole life of the cell; None for no limit of its own.
        open_files: open descriptors.
        file_size: largest file that the cell may write.
        disk: most bytes under its temporary folder, and most bytes by which its write roots may grow
            while it lives, whoever writes there (both polled: more may be written before it is noticed).
        output: what is kept of each of standard output and standard error.
        result: longest frame that the cell may send.
        processes: child processes in `process` isolation; 0 elsewhere.
    """

    memory: int = 512 * MiB
    cpu: float | None = None
    open_files: int = 256
    file_size: int = 256 * MiB
    disk: int = 256 * MiB
    output: int = 1 * MiB
    result: int = 32 * MiB
    processes: int = 0


@dataclass(frozen=True, kw_only=True)
class Rights:
    """The effective right of a cell, resolved to this machine. Nothing is granted by default.

    Attributes:
        read: absolute real paths: an existing file, or `/dir/**` for a folder and all below it.
        write: the same form; what may be written may be read, too.
        net: `host:port`, `*.host:port` or `*:443`, lower case; the broker matches names.
        private_net: entries of `net` for which non-public addresses are allowed as well.
        exec: absolute real paths of programs.
        program_digests: path of a program to the SHA-256 that it must have, in hex; checked before each run.
        shm: a `/dev/shm` of the cell's own, for shared memory and named semaphores.
        env: variables given to the cell beside the standard ones.
        limits: see `Limits`.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    private_net: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    program_digests: Mapping[str, str] = field(default_factory=dict)
    shm: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class CellSpec:
    """What a cell is for. Two cells with equal specs are interchangeable.

    Attributes:
        pack: name of the pack, used in messages.
        package: the top-level package that holds handlers and post-hooks.
        location: folder that contains the package, which is then imported from there whatever else
            `paths` hold; None when the package is found on `paths`.
        digests: SHA-256 by path below `location`; when there are any, no module of the package is
            loaded whose file has another one, so that what was checked is what runs.
        paths: folders put on `sys.path` as plain paths (no `.pth` is read).
        rights: what the cell may do.
        settings: the pack's settings.
        secrets: logical name to value; sent in the first frame, never logged.
        workspace: the deployment's workspace, None when the cell has no right in it.
        cwd: the working directory; None for the cell's temporary folder.
        data: the pack's own folder, None when it has none.
        isolation: see `Isolation`.
        shared: whether one cell may serve several sessions in turn; only for a pack that keeps nothing.
        enforcement: see `Enforcement`.
        start_timeout: seconds until the cell must be ready.
        observe: watch what its Python code opens, runs and asks for, from the import of the pack on; each
            answer then tells it. For authors: nothing is held by it.
    """

    pack: str
    package: str
    location: str | None = None
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    paths: tuple[str, ...] = ()
    rights: Rights = field(default_factory=Rights)
    settings: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    workspace: str | None = None
    cwd: str | None = None
    data: str | None = None
    isolation: Isolation = "auto"
    shared: bool = False
    enforcement: Enforcement = "kernel"
    start_timeout: float = 20.0
    observe: bool = False

    @property
    def single_use(self) -> bool:
        """Whether a cell serves one call only, however few there are."""
        limited = self.isolation == "auto" and self.rights.limits.cpu is not None
        return limited or self.isolation in ("fresh", "process")


@dataclass(frozen=True, kw_only=True)
class Retirement:
    """When a cell that could serve on is replaced instead.

    Attributes:
        idle: seconds without a call after which a cell ends.
        age: seconds after which it ends once it is idle.
        calls: how many it serves.
        growth: which part of its limits on memory and disk its earlier calls may have used up: what they hold,
            beyond what it held at first, and what they wrote, would be missing in the next.
    """

    idle: float = 600.0
    age: float = 3600.0
    calls: int = 10_000
    growth: float = 0.5


@dataclass(frozen=True, kw_only=True)
class FieldError:
    """One argument that does not fit: `path` such as `items[0].colour`, and why."""

    path: str
    message: str


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A call that a handler or post-hook asks for: `skill` as written, `arguments` as JSON text."""

    skill: str
    arguments: bytes


@dataclass(frozen=True, kw_only=True)
class Denied:
    """One thing that a cell wanted and had no right to.

    Attributes:
        right: the permission key that would have allowed it: `net`, `exec`, `shm`.
        what: host and port, or program; plain text of at most 200 characters, from hostile code.
        missing: the grant that is missing, as a manifest writes it.
        seen_by: `broker` where the host saw it, `cell` where only the cell says so, which is no proof.
    """

    right: Literal["net", "exec", "shm"]
    what: str
    missing: str
    seen_by: Literal["broker", "cell"]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """How one request ended. Everything in it comes from hostile code and is plain data.

    Attributes:
        kind: see `ReplyKind`.
        text: the result as JSON text in UTF-8 (only for `result`). Bytes in a result appear as
            `{"$bytes": "<base64>", "media_type": "image/png"}`.
        errors: which arguments do not fit (only for `invalid`).
        error: one line about what happened, without paths of the host.
        traceback: the pack's own lines of the traceback, for the pack's author only.
        follow_ups: at most three calls that the pack asks for.
        denied: what the cell says it was refused, at most twenty things.
        observed: what a cell with `CellSpec.observe` did so far, as JSON text; empty for every other.
        duration: seconds that the host waited.
    """

    kind: ReplyKind
    text: bytes = b""
    errors: tuple[FieldError, ...] = ()
    error: str = ""
    traceback: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    denied: tuple[Denied, ...] = ()
    observed: bytes = b""
    duration: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a cell says about one skill: untrusted, to be accepted by the host's own rules.

    Attributes:
        schema: JSON Schema of the arguments, as JSON text.
        description: from the docstring, without sections such as Args or Raises.
        notes: warnings for the author (an argument documented that does not exist, ...).
        error: why the skill cannot be described; empty when it can.
    """

    schema: bytes = b""
    description: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a cell printed since it was last asked, decoded with replacement."""

    stdout: str = ""
    stderr: str = ""
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Enforced:
    """One right, who enforces it on this machine, and how or why not."""

    right: str
    by: EnforcedBy
    detail: str
