"""Python skills: a thin door to `remit_sandbox.python`."""
