"""Runs model files in this process."""
