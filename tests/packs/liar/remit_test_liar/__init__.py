"""A pack that declares read and asks for more."""
