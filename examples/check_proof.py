"""Check that one record is in a log: `python check_proof.py record.tlog-proof log.pub`.

Needs Python and `cryptography`, and nothing of Remit. Follows RFC 9162 section 2.1.3.2 (verifying an inclusion proof)
and the C2SP texts tlog-proof, tlog-checkpoint and signed-note.
"""

import base64
import hashlib
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(*parts: bytes) -> bytes:
    """Hash bytes one after the other."""
    return hashlib.sha256(b"".join(parts)).digest()


def root_from(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes | None:
    """Walk from a leaf up to the root; None when the path has the wrong length."""
    fn, sn, r = index, size - 1, leaf
    for p in path:
        if sn == 0:
            return None
        if fn % 2 == 1 or fn == sn:
            r = sha256(b"\x01", p, r)
            while fn % 2 == 0 and fn != 0:
                fn //= 2
                sn //= 2
        else:
            r = sha256(b"\x01", r, p)
        fn //= 2
        sn //= 2
    return r if sn == 0 else None


def signed_text(note: str, verifier: str) -> str:
    """Return the text of a signed note; exits when the key did not sign it."""
    name, _, encoded = verifier.strip().split("+", 2)
    key = base64.b64decode(encoded)
    if key[0] != 1:
        sys.exit("the key is not an Ed25519 key")
    expected = sha256(name.encode(), b"\n", key)[:4]
    text, _, signatures = note.rpartition("\n\n")
    for line in signatures.splitlines():
        dash, signer, data = line.split(" ")
        blob = base64.b64decode(data)
        if dash == "\u2014" and signer == name and blob[:4] == expected:
            try:
                Ed25519PublicKey.from_public_bytes(key[1:]).verify(blob[4:], f"{text}\n".encode())
            except InvalidSignature:
                continue
            return text
    sys.exit(f"the checkpoint is not signed by {name}")


def main() -> None:
    """Check the proof in the first file with the key in the second."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        head, _, note = file.read().partition("\n\n")
    with open(sys.argv[2], encoding="utf-8") as file:
        text = signed_text(note, file.read())
    lines = head.split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1":
        sys.exit("this is no proof")
    record = base64.b64decode(lines[1].removeprefix("extra "))
    index = int(lines[2].removeprefix("index "))
    path = [base64.b64decode(line) for line in lines[3:]]
    origin, size, root = text.split("\n")[:3]
    if not 0 <= index < int(size) or root_from(sha256(b"\x00", record), index, int(size), path) != base64.b64decode(
        root
    ):
        sys.exit("the record is NOT in the log")
    print(f"in {origin} at place {index + 1} of {size}:")
    print(json.dumps(json.loads(record), indent=2))


if __name__ == "__main__":
    main()
