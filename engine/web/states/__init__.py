"""Turns pages into states and histories, and rewrites remembered actions for another task."""
