"""The Merkle tree, against the definition of RFC 9162 and the known vectors of Certificate Transparency."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.merkle import Frontier, includes, inclusion_path, root_of
from remit.state.chain import leaf_hash

LONGEST = "606162636465666768696a6b6c6d6e6f"
INPUTS = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", LONGEST)]
"""Eight leaves; their roots are published with the reference implementation of RFC 6962, whose tree this is."""

ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def by_definition(leaves: Sequence[bytes]) -> bytes:
    """The recursive definition of RFC 9162, 2.1.1."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + by_definition(leaves[:split]) + by_definition(leaves[split:])).digest()


@pytest.mark.parametrize(("size", "root"), ROOTS.items())
def test_known_roots(size: int, root: str) -> None:
    assert root_of(map(leaf_hash, INPUTS[:size])).hex() == root


def test_the_root_of_nothing_is_the_hash_of_nothing() -> None:
    assert Frontier().root() == hashlib.sha256().digest()


def leaves_of(size: int) -> list[bytes]:
    return [leaf_hash(bytes([number])) for number in range(size)]


def between(leaves: list[bytes]) -> Callable[[int, int], list[bytes]]:
    return lambda start, end: leaves[start:end]


def test_every_size_agrees_with_the_definition_and_every_leaf_is_proved() -> None:
    for size in range(1, 34):
        leaves = leaves_of(size)
        root = by_definition(leaves)
        assert root_of(leaves) == root
        for index in range(size):
            path = inclusion_path(index, size, between(leaves))
            assert includes(leaves[index], index, size, path, root)
            assert not includes(leaves[index], (index + 1) % size if size > 1 else 1, size, path, root)
            assert not includes(leaf_hash(b"other"), index, size, path, root)
            assert not includes(leaves[index], index, size, [*path, root], root)
            assert not path or not includes(leaves[index], index, size, path[:-1], root)


@given(first=st.integers(0, 40), more=st.integers(0, 40))
def test_a_frontier_goes_on_where_it_was_left(first: int, more: int) -> None:
    leaves = leaves_of(first + more)
    left = Frontier()
    for leaf in leaves[:first]:
        left.add(leaf)
    again = Frontier.unpack(first, left.pack())
    assert again is not None
    for leaf in leaves[first:]:
        again.add(leaf)
    assert (again.size, again.root()) == (first + more, by_definition(leaves))
    assert Frontier.unpack(first + 1, left.pack() + b"x") is None
