"""File skills for granted folders."""
