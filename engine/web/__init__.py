"""Web pages as an environment."""
