"""Code of the forum. It runs in the sites' environment and imports nothing of this project."""
