"""Valid actions: what a story understands, in which order it is tried, and what is kept of it."""
