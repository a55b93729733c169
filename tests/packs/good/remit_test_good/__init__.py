"""A pack that does everything right."""
