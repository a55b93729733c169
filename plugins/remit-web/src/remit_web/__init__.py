"""Web pages as readable text."""
