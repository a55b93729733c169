"""The one skill of this pack."""


def which() -> str:
    """Say which of the two packs this is."""
    return "b"
