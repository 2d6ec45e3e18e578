"""Turns the text of games into states and histories."""
