"""From what a game prints to states and histories."""
