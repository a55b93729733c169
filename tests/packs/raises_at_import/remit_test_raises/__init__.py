"""A pack whose package raises at import."""

raise RuntimeError("this pack cannot be imported")
