"""The session: the loop, what it holds open, where it is kept, and what is recorded of it."""
