"""The key that signs checkpoints: in the key folder of the state, in a file, or in the keystore of the system."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from remit.errors import EvidenceError
from remit.evidence.notes import SignerKey, VerifierKey
from remit.state_folder import private_folder, write_private

STANDARD = "standard"
"""The reference to the key in the state folder, which is made on first use."""


def load_signer(folder: Path, reference: str = STANDARD, *, name: str = "") -> SignerKey:
    """Return the key that signs checkpoints.

    Args:
        folder: the state folder.
        reference: `standard`, `file:PATH` (as `remit log key --new` writes it), or `keyring:SERVICE/NAME`.
        name: of a new key; the log's origin.

    Raises:
        EvidenceError: it is not there, may not be read, or is none.
    """
    if reference == STANDARD:
        return _own(folder, name)
    kind, _, where = reference.partition(":")
    if kind == "file" and where:
        return SignerKey.parse(_read(Path(where).expanduser()))
    if kind == "keyring" and where:
        return SignerKey.parse(_from_keyring(where))
    raise EvidenceError(
        f"{reference!r} is no reference to a key",
        remedy='write key = "file:PATH" or "keyring:SERVICE/NAME" under [log]',
    )


def load_verifier(folder: Path) -> VerifierKey | None:
    """Return the public key kept in the state folder, or None when nothing was signed here yet.

    Raises:
        EvidenceError: it is damaged.
    """
    path = _public(folder)
    if not path.exists():
        return None
    return VerifierKey.parse(_read(path))


def read_verifier(given: str) -> VerifierKey:
    """Return a public key given as text, or as the name of a file that holds it.

    Raises:
        EvidenceError: it is none.
    """
    with suppress(EvidenceError):
        return VerifierKey.parse(given)
    return VerifierKey.parse(_read(Path(given)))


def make_key(reference: str, *, name: str) -> SignerKey:
    """Make a new key in `file:PATH` (a new file of mode 0600) or `keyring:SERVICE/NAME`.

    Raises:
        EvidenceError: the reference is none, there is a file already, or no keystore.
    """
    kind, _, where = reference.partition(":")
    key = SignerKey.generate(name)
    if kind == "file" and where:
        path = Path(where).expanduser()
        try:
            _write_new(path, key.secret().encode())
        except OSError as error:
            raise EvidenceError(f"{path} cannot be made: {error.strerror or error}") from None
        return key
    if kind == "keyring" and where:
        _keep_in_keyring(where, key)
        return key
    raise EvidenceError(f"{reference!r} is no place for a key", remedy="file:PATH or keyring:SERVICE/NAME")


def _keep_in_keyring(where: str, key: SignerKey) -> None:
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(*_place(where), key.secret())
    except KeyringError as error:
        raise _no_keystore(error) from None


def keep_public(folder: Path, key: VerifierKey) -> None:
    """Keep the public key in the state folder, so that `verify` finds it."""
    path = _public(folder)
    if not path.exists() or path.read_text("utf-8").strip() != str(key):
        private_folder(path.parent)
        write_private(path, f"{key}\n".encode())


def _own(folder: Path, name: str) -> SignerKey:
    path = private_folder(folder / "keys") / "log.key"
    if not path.exists():
        if not name:
            raise EvidenceError(f"there is no key at {path} yet", remedy="remit log anchor makes one")
        key = SignerKey.generate(name)
        with suppress(FileExistsError):
            _write_new(path, key.secret().encode())
    key = SignerKey.parse(_read(path))
    keep_public(folder, key.verifier)
    return key


def _write_new(path: Path, data: bytes) -> None:
    """Put a new file at `path` in one step; raises FileExistsError when another process was first."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        write_private(draft, data)
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _public(folder: Path) -> Path:
    return folder / "keys" / "log.pub"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise EvidenceError(f"the key {path} cannot be read: {why}") from None


def _from_keyring(where: str) -> str:
    import keyring
    from keyring.errors import KeyringError

    try:
        found = keyring.get_password(*_place(where))
    except KeyringError as error:
        raise _no_keystore(error) from None
    if not found:
        raise EvidenceError(f"the keystore has no key {where!r}", remedy=f"remit log key --new keyring:{where}")
    return found


def _place(where: str) -> tuple[str, str]:
    service, _, name = where.partition("/")
    if not service or not name:
        raise EvidenceError(f"keyring:{where} is no reference to a key", remedy="write keyring:SERVICE/NAME")
    return service, name


def _no_keystore(error: Exception) -> EvidenceError:
    return EvidenceError(f"the keystore of this system cannot be used: {error}", remedy='use key = "file:PATH" instead')
