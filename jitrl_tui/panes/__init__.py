"""Panes of the watch screen: one file each, and their registry."""
