"""One of two packs with the same name."""
