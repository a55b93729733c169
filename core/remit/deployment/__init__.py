"""A deployment: which packs are enabled, how far each may reach, and who has accepted that."""
