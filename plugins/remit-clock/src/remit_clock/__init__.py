"""Date and time skills."""
