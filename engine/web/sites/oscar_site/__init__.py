"""The shop's own code; runs in the sites' environment and imports nothing of this project."""
