"""Attempts to escape from a cell: a hostile pack, run without confinement, with each layer alone, and in cells.

Everything that is attacked is made for it: files, sockets and processes of our own, in namespaces of our own, so
that a control can harm nothing. Imported by nobody but `remit doctor --escape`, `python -m remit_sandbox.escape`
and tests.
"""
