"""The other of two packs with the same name."""
