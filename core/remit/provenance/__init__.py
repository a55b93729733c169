"""Where the values of a call come from, so that a person is asked rarely and at the right moment."""
