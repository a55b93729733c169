"""A pack whose handlers take and give every kind of value that is promised."""
