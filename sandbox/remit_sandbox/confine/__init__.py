"""Confinement of one process: Landlock, seccomp, capabilities, limits. Linux only; imports anywhere."""
