"""Exact draws from fair random words, in integers from beginning to end."""
