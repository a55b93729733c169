"""Rules, and the verdict that they give on one call."""
