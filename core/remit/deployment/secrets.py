"""Binding the secrets that packs ask for: the reference goes into `remit.toml`, a value at most into the keyring."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from remit.deployment.closed import is_reference
from remit.deployment.config import PackConfig
from remit.deployment.edit import edited_pack, planned_files
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import MANAGED_FILE, canonical, load_managed
from remit.deployment.load import nearest
from remit.deployment.proposal import Proposal, changes_between
from remit.deployment.secret_values import resolve_secret
from remit.deployment.trust import require, standing
from remit.errors import DeploymentError, RemitError, UsageError
from remit.packs.discovery import discover
from remit.packs.manifest import read_pack_manifest
from remit.state_folder import find_state, open_state

_KINDS = "env:NAME, file:/path or keyring:service/name"


@dataclass(frozen=True, kw_only=True)
class SecretRow:
    """One secret of one pack, without its value.

    Attributes:
        pack: the pack's name.
        name: the logical name.
        asked: the pack, as installed or locked, asks for it.
        reference: where its value is kept; empty when it is not bound.
        found: whether there is a value; False when it is not bound.
        why: why there is none; empty when there is one.
    """

    pack: str
    name: str
    asked: bool
    reference: str = ""
    found: bool = False
    why: str = ""


def list_secrets(folder: str | Path, *, paths: Sequence[str] | None = None) -> tuple[SecretRow, ...]:
    """Return every secret that an enabled pack asks for or the deployment binds; values are looked up and dropped."""
    files = read_files(folder)
    asking = _asking(files, paths)
    rows: list[SecretRow] = []
    for name in sorted(asking):
        table = _table(files, name)
        rows += (_row(name, secret, secret in asking[name], table, files) for secret in _names(asking[name], table))
    return tuple(rows)


def _names(asked: Sequence[str], table: PackConfig) -> list[str]:
    return sorted({*asked, *table.secrets})


def _row(pack: str, name: str, asked: bool, table: PackConfig, files: DeploymentFiles) -> SecretRow:
    reference = table.secrets.get(name, "")
    why = "" if reference else f"not bound: remit secrets set {pack}.{name}"
    if reference:
        try:
            resolve_secret(reference, folder=files.folder)
        except RemitError as error:
            why = error.message
    return SecretRow(pack=pack, name=name, asked=asked, reference=reference, found=not why, why=why)


def bind(
    folder: str | Path,
    secret: str,
    reference: str,
    *,
    paths: Sequence[str] | None = None,
    managed: Path = MANAGED_FILE,
) -> Proposal:
    """Propose to bind `PACK.NAME` to a reference.

    Raises:
        NotTrusted: the deployment, as it is now, was not accepted: binding must not accept the rest of it.
        UsageError: the pack asks for no such secret, or it is no reference; the text is never repeated.
    """
    files, pack, name = _checked(folder, secret, paths, managed)
    if not is_reference(reference, extensions=bool(files.config.config.extensions.enabled)):
        raise UsageError(
            f"secret {secret}: that is no reference, and a secret itself is never written down",
            remedy=f"write {_KINDS}; without one, the value is read and kept in the keyring",
        )
    return _edited(files, pack, {("secrets", name): reference}, f"secret {pack}.{name} is read from {reference}")


def keep(
    folder: str | Path,
    secret: str,
    value: str,
    *,
    paths: Sequence[str] | None = None,
    managed: Path = MANAGED_FILE,
) -> Proposal:
    """Put a value into the keyring of this machine, and propose to bind `PACK.NAME` to it.

    Raises:
        NotTrusted, UsageError: as `bind`.
        DeploymentError: there is no keyring here, or it refuses.
    """
    files, pack, name = _checked(folder, secret, paths, managed)
    if not value.strip():
        raise UsageError(f"secret {secret}: the value is empty")
    service = _service(files)
    _keyring_call("set_password", service, f"{pack}.{name}", value.strip())
    return bind(folder, f"{pack}.{name}", f"keyring:{service}/{pack}.{name}", paths=paths, managed=managed)


def unbind(folder: str | Path, secret: str, *, managed: Path = MANAGED_FILE) -> Proposal:
    """Propose to bind `PACK.NAME` to nothing; a value that `keep` put into the keyring goes at once.

    Raises:
        NotTrusted: as `bind`.
        UsageError: it is not bound.
    """
    files = _trusted(folder, managed)
    pack, name = _split(secret)
    reference = _table(files, pack).secrets.get(name)
    if reference is None:
        raise UsageError(f"secret {secret} is not bound here", remedy="remit secrets list")
    if reference == f"keyring:{_service(files)}/{pack}.{name}":
        with suppress(DeploymentError):
            _keyring_call("delete_password", _service(files), f"{pack}.{name}")
    return _edited(files, pack, {("secrets", name): None}, f"secret {pack}.{name} is no longer bound")


def _edited(files: DeploymentFiles, pack: str, values: dict[tuple[str, ...], Any], line: str) -> Proposal:
    text = edited_pack(files.config.text, pack, values, files.config.path)
    changes = changes_between(files, planned_files(files, text, files.lock))
    return Proposal(pack=pack, lines=(line,), changes=changes, before=files, text=text, lock=files.lock)


def _checked(
    folder: str | Path, secret: str, paths: Sequence[str] | None, managed: Path
) -> tuple[DeploymentFiles, str, str]:
    files = _trusted(folder, managed)
    pack, name = _split(secret)
    asking = _asking(files, paths)
    if pack not in asking:
        close = nearest(pack, tuple(asking))
        hint = f"; did you mean {close!r}?" if close else ""
        raise UsageError(f"no pack {pack!r} is installed or locked here{hint}", remedy="remit packs list")
    if name not in asking[pack]:
        close = nearest(name, asking[pack])
        hint = f"did you mean {close!r}?" if close else f"it asks for {', '.join(asking[pack]) or 'none'}"
        remedy = "remit secrets list shows what is asked for"
        raise UsageError(f"pack {pack} asks for no secret {name!r}; {hint}", remedy=remedy)
    return files, pack, name


def _trusted(folder: str | Path, managed: Path) -> DeploymentFiles:
    files = read_files(folder)
    upper = load_managed(managed)
    require(standing(files, find_state(files.folder), managed=upper.config.trust if upper else ()), files.folder)
    return files


def _split(secret: str) -> tuple[str, str]:
    pack, dot, name = secret.partition(".")
    if not dot or not pack or not name:
        raise UsageError(f"{secret[:80]!r} is no secret's name: write PACK.NAME", remedy="remit secrets list")
    return canonical(pack), name


def _asking(files: DeploymentFiles, paths: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Return pack to the secrets that it asks for: of the deployment's packs, and of every other installed one."""
    asking = {name: locked.permission.secrets for name, locked in files.lock.packs.items()}
    asking.update({canonical(name): asking.get(canonical(name), ()) for name in files.config.config.packs})
    sources = {canonical(name): pack.from_ for name, pack in files.config.config.packs.items() if pack.from_}
    for name, secrets in _installed(paths, sources):
        asking[name] = tuple(sorted({*asking.get(name, ()), *secrets}))
    return asking


def _installed(paths: Sequence[str] | None, sources: dict[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for pack in discover(paths, sources=sources).packs.values():
        with suppress(RemitError):
            yield pack.name, read_pack_manifest(pack).permission().secrets


def _table(files: DeploymentFiles, name: str) -> PackConfig:
    packs = files.config.config.packs
    return next((pack for written, pack in packs.items() if canonical(written) == name), PackConfig())


def _service(files: DeploymentFiles) -> str:
    """Return the name under which values of this deployment lie in the keyring; no two deployments share one."""
    return f"remit-{open_state(files.folder).id[:16]}"


def _keyring_call(what: str, *arguments: str) -> Any:
    """Call the keyring; its own errors may quote what they were given, so only their kind is passed on."""
    if find_spec("keyring") is None:
        raise DeploymentError(
            "the Python package keyring is not installed", remedy="pip install 'remit[keyring]', or bind env:NAME"
        )
    try:
        return getattr(import_module("keyring"), what)(*arguments)
    except Exception as error:
        backend = os.environ.get("PYTHON_KEYRING_BACKEND", "")
        raise DeploymentError(
            f"the keyring of this machine cannot be used ({type(error).__name__}{f', {backend}' if backend else ''})",
            remedy="bind the secret to env:NAME or file:/path instead",
        ) from None
