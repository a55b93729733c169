"""Long-term memory, searched by words and by meaning."""
