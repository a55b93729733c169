"""What authors of packs need: a first pack to start from, and the check of a finished one."""
