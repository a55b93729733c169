"""A suite, recorded once and replayed offline."""
