"""A real browser: what it may reach, what a page shows, and what is done with it."""
