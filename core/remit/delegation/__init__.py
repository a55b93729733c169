"""Agents that others may give tasks to: who may ask whom, with what rights, and the runs that come of it."""
