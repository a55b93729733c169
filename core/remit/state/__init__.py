"""What a deployment remembers: records, sessions, results, sign-offs."""
