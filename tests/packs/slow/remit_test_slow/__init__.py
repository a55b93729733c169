"""A pack that takes its time."""
