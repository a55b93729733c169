"""A pack that tries everything."""

print("loading", flush=True)
