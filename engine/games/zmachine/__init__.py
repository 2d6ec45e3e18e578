"""Runs a story in its own process: interpreter, access to its memory, and analysis of its file."""
