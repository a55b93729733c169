"""Attempts to escape from a cell: a hostile pack, run without confinement, with each layer alone, and in cells."""
