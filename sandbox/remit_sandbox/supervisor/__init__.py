"""The process that starts, feeds, watches and ends the cells, and the host's connection to it."""
