"""Signed notes and checkpoints in the formats of C2SP (signed-note, tlog-checkpoint), signed with Ed25519.

A note is text, an empty line, and lines `<em dash> NAME BASE64`. A key is written as `NAME+HASH+BASE64`; it is
known by the first four bytes of the SHA-256 over its name, a line feed, and its bytes.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from hashlib import sha256

from remit.errors import EvidenceError

_ED25519 = b"\x01"
_DASH = "\N{EM DASH} "
_PRIVATE = "PRIVATE+KEY+"
_LONGEST = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class VerifierKey:
    """A public key.

    Attributes:
        name: of the signer; no space and no plus sign.
        public: 32 bytes.
    """

    name: str
    public: bytes

    @property
    def hash(self) -> bytes:
        """The four bytes by which signatures name it."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.hash.hex()}+{_base64(_ED25519 + self.public)}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Return the key written as `NAME+HASH+BASE64`.

        Raises:
            EvidenceError: it is none.
        """
        name, hashed, data = _parts(text.strip(), "a public key is written NAME+HASH+BASE64")
        key = cls(name=name, public=data)
        if key.hash.hex() != hashed:
            raise EvidenceError("the public key does not fit its own hash: it was not copied whole")
        return key

    def signed(self, text: str, signature: bytes) -> bool:
        """Tell whether `signature` over `text` is of this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, kw_only=True)
class SignerKey:
    """A private key; printing it shows its name only.

    Attributes:
        name: of the signer.
    """

    name: str
    _seed: bytes

    @classmethod
    def generate(cls, name: str) -> SignerKey:
        """Return a new key."""
        import os

        return cls(name=name, _seed=os.urandom(32))

    @classmethod
    def parse(cls, text: str) -> SignerKey:
        """Return the key written as `PRIVATE+KEY+NAME+HASH+BASE64`.

        Raises:
            EvidenceError: it is none.
        """
        wrong = "a private key is written PRIVATE+KEY+NAME+HASH+BASE64"
        if not text.startswith(_PRIVATE):
            raise EvidenceError(wrong)
        name, hashed, data = _parts(text.removeprefix(_PRIVATE).strip(), wrong)
        key = cls(name=name, _seed=data)
        if key.verifier.hash.hex() != hashed:
            raise EvidenceError("the private key does not fit its own hash: it is damaged")
        return key

    def secret(self) -> str:
        """Return the key as text, to be kept."""
        return f"{_PRIVATE}{self.name}+{self.verifier.hash.hex()}+{_base64(_ED25519 + self._seed)}\n"

    @property
    def verifier(self) -> VerifierKey:
        """The public key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        public = Ed25519PrivateKey.from_private_bytes(self._seed).public_key().public_bytes_raw()
        return VerifierKey(name=self.name, public=public)

    def sign(self, text: str) -> str:
        """Return `text`, whose last line ends, as a signed note."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        signature = Ed25519PrivateKey.from_private_bytes(self._seed).sign(text.encode())
        return f"{text}\n{_DASH}{self.name} {_base64(self.verifier.hash + signature)}\n"

    def __repr__(self) -> str:
        return f"SignerKey({self.name})"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The tree as it was at one moment.

    Attributes:
        origin: which log it is of.
        size: records.
        root: hash over them.
        note: the signed note that it came from.
    """

    origin: str
    size: int
    root: bytes
    note: str = ""

    @property
    def text(self) -> str:
        """The part of the note that is signed."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    def signed_by(self, key: VerifierKey) -> bool | None:
        """Tell whether its note is signed by `key`; None when the note says nothing of that key."""
        text, _, block = self.note.rpartition("\n\n")
        found = [s for name, hashed, s in _signatures(block) if (name, hashed) == (key.name, key.hash)]
        return any(key.signed(text + "\n", signature) for signature in found) if found else None


def parse_checkpoint(note: str) -> Checkpoint:
    """Return the checkpoint in a signed note. Its signature is not checked yet.

    Raises:
        EvidenceError: it is none.
    """
    text, gap, _ = note.rpartition("\n\n")
    lines = text.split("\n")
    if not gap or len(lines) < 3 or len(note) > _LONGEST or not lines[0] or not _is_size(lines[1]):
        raise EvidenceError("this is no checkpoint", remedy="remit log anchor writes one")
    root = _bytes(lines[2])
    if root is None or len(root) != 32:
        raise EvidenceError("the checkpoint has no hash of 32 bytes")
    return Checkpoint(origin=lines[0], size=int(lines[1]), root=root, note=note)


def _signatures(block: str) -> list[tuple[str, bytes, bytes]]:
    found = []
    for line in block.splitlines():
        name, _, encoded = line.removeprefix(_DASH).partition(" ")
        data = _bytes(encoded)
        if line.startswith(_DASH) and name and data is not None and len(data) > 4:
            found.append((name, data[:4], data[4:]))
    return found


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19 and (text == "0" or text[0] != "0")


def _parts(text: str, wrong: str) -> tuple[str, str, bytes]:
    parts = text.split("+", 2)
    data = _bytes(parts[2]) if len(parts) == 3 else None
    if data is None or len(data) != 33 or data[:1] != _ED25519 or not parts[0] or " " in parts[0]:
        raise EvidenceError(wrong)
    return parts[0], parts[1], data[1:]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
