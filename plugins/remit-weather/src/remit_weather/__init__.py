"""The weather pack: see `pack.toml` for what it may do."""
