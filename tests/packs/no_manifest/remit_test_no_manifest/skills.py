"""A handler that no manifest names."""


def hello() -> str:
    """Say hello."""
    return "hello"
