"""Code of the shop. It runs in the sites' environment and imports nothing of this project."""
