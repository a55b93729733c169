def hello(name: str, times: int = 1) -> str:
    """Greet somebody. Use it when the user asks for a greeting.

    Args:
        name: whom to greet.
        times: how often.

    Returns:
        The greeting.
    """
    return " ".join([f"Hello, {name}!"] * times)
