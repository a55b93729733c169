"""One call, stage by stage."""
