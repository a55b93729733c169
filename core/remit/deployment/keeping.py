"""The tables `[log]`, `[telemetry]`, `[notify]` and `[cells]` of `remit.toml`: what is kept, told and kept ready."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from remit.deployment.closed import Closed, Texts, as_tuple


def _shape(value: str) -> str:
    if not 4 <= len(value) <= 64 or not set(value) & set("#@*"):
        raise ValueError("write 4 to 64 characters, # for a digit, @ for a letter, * for either, such as EMP-######")
    return value


RedactKind = Literal["key", "card", "email", "iban", "phone"]
"""What is recognised in a text and not kept; see docs/log.md."""


class LogConfig(Closed):
    """`[log]`: what is kept, what is not, and for how long.

    Attributes:
        keep_raw: keep the raw request and response of every model turn.
        reads: `durable` puts the records of reads, too, on the disk before the skill runs; `normal` leaves that
            to the operating system, and a power cut can take the newest of them.
        key: where the key that signs checkpoints is kept, `file:/PATH` or `keyring:SERVICE/NAME`; None for the
            one in the state folder.
        checkpoint_every: records after which a signed checkpoint is written; 0 for never.
        redact: names of fields whose values are not kept, in arguments and results at any depth;
            `PACK.SKILL.FIELD` for one skill's argument.
        redact_kinds: what is recognised in texts and not kept.
        redact_shapes: texts of a fixed shape that are not kept, such as `EMP-######`.
        keep_days: days after which `remit log prune` removes payloads and transcripts; None for never.
        keep_mb: megabytes of payloads, transcripts and results beyond which it removes the oldest.
    """

    keep_raw: bool = False
    reads: Literal["durable", "normal"] = "normal"
    key: Annotated[str, Field(pattern=r"^(file|keyring):\S.*$")] | None = None
    checkpoint_every: Annotated[int, Field(ge=0)] = 1000
    redact: Texts = ()
    redact_kinds: Annotated[tuple[RedactKind, ...], BeforeValidator(as_tuple)] = ("key", "card")
    redact_shapes: Annotated[tuple[Annotated[str, AfterValidator(_shape)], ...], BeforeValidator(as_tuple)] = ()
    keep_days: Annotated[float | None, Field(strict=False, gt=0)] = None
    keep_mb: Annotated[float | None, Field(strict=False, gt=0)] = None


class TelemetryConfig(Closed):
    """`[telemetry]`: what OpenTelemetry is told, where the program has configured it.

    Attributes:
        export: let Remit configure OpenTelemetry itself: `console` (standard error) or `otlp` (the standard
            `OTEL_*` variables say where to); `none` leaves that to the program around it.
        content: export arguments, results, messages and reasons, too; they hold personal data.
        older_metrics: also write the metrics whose names the GenAI conventions had up to 1.41.
    """

    export: Literal["none", "console", "otlp"] = "none"
    content: bool = False
    older_metrics: bool = True


def _web_address(value: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(value)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise ValueError('write an address such as "https://host.example/path" (http only to this machine)')
    return value


class NotifyConfig(Closed):
    """`[notify]`: who is told when a call waits for a person and nobody is there.

    Attributes:
        command: a program and its arguments; gets one JSON object on standard input. It runs with the rights of
            this program, outside of any cell, in the deployment's folder.
        webhook: an address to which the same JSON object is posted.
        arguments: tell the arguments of the call, too; they can hold personal data.
        timeout: seconds that each of the two may take.
    """

    command: Texts = ()
    webhook: Annotated[str, AfterValidator(_web_address)] | None = None
    arguments: bool = False
    timeout: Annotated[float, Field(strict=False, gt=0, le=60)] = 10.0


class CellsConfig(Closed):
    """`[cells]`: how many cells are kept ready; beyond that, `auto` skills get a new one for each call.

    Attributes:
        most: how many there should be at once.
        memory_mb: megabytes that they should hold together, beside what they share.
    """

    most: Annotated[int, Field(ge=1, le=10_000)] = 64
    memory_mb: Annotated[int, Field(ge=64)] = 2048

    def within(self, upper: CellsConfig) -> CellsConfig:
        """Return these limits where another file sets some, too: the smaller of each counts."""
        said = {name: min(getattr(self, name), getattr(upper, name)) for name in upper.model_fields_set}
        return self.model_copy(update=said)
