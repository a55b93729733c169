"""The Merkle tree of RFC 9162, section 2.1, grown leaf by leaf in logarithmic space."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256

WIDTH = 32
"""Bytes of a hash."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a tree: what is needed to add leaves and to know the root.

    Attributes:
        size: leaves so far.
        hashes: of the perfect subtrees that the leaves fall into, largest first.
    """

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        """Start empty, or where another one was left."""
        self.size = size
        self.hashes = list(hashes)

    @classmethod
    def unpack(cls, size: int, packed: bytes) -> Frontier | None:
        """Return what `pack` gave for `size` leaves; None when it does not fit."""
        if len(packed) != size.bit_count() * WIDTH:
            return None
        return cls(size, (packed[at : at + WIDTH] for at in range(0, len(packed), WIDTH)))

    def pack(self) -> bytes:
        """Return the hashes one after the other."""
        return b"".join(self.hashes)

    def copy(self) -> Frontier:
        """Return another one that grows by itself."""
        return Frontier(self.size, self.hashes)

    def add(self, leaf: bytes) -> None:
        """Add a leaf's hash."""
        size, hashes = self.size, self.hashes
        self.size = size + 1
        while size & 1:
            leaf = sha256(b"\x01" + hashes.pop() + leaf).digest()
            size >>= 1
        hashes.append(leaf)

    def root(self) -> bytes:
        """Return the hash of the whole tree; of no leaves it is the hash of nothing."""
        if not self.hashes:
            return sha256().digest()
        root = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            root = node_hash(left, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root over the hashes of leaves."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.add(leaf)
    return frontier.root()


def inclusion_path(index: int, size: int, leaves: Callable[[int, int], Iterable[bytes]]) -> list[bytes]:
    """Return the proof that leaf `index` is in the tree of `size` leaves, lowest node first (RFC 9162, 2.1.3.1).

    Args:
        index: from 0.
        size: leaves of the tree.
        leaves: gives the hashes of the leaves from one index up to, not with, another.
    """
    start, end = 0, size
    path: list[bytes] = []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(root_of(leaves(middle, end)))
            end = middle
        else:
            path.append(root_of(leaves(start, middle)))
            start = middle
    path.reverse()
    return path


def includes(leaf: bytes, index: int, size: int, path: Iterable[bytes], root: bytes) -> bool:
    """Check a proof (RFC 9162, 2.1.3.2)."""
    at, last, found = index, size - 1, leaf
    if not 0 <= index < size:
        return False
    for node in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(node, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, node)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def _split(size: int) -> int:
    """Return the largest power of two smaller than `size`."""
    return 1 << ((size - 1).bit_length() - 1)
