"""Sessions: the loop, the objects it uses, the store of sessions, and recordings."""
