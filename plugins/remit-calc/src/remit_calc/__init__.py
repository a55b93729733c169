"""Arithmetic skills: a thin door to `remit_sandbox.calculate`."""
