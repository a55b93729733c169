"""A pack of async handlers."""
