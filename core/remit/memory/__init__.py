"""What is remembered of a person from one session to the next: key facts, in slots."""
