"""Proof of what the log says: Merkle tree, signed checkpoints, anchors, verification."""
