"""Real pictures in terminals: what a terminal can show, how it is told, and half-blocks for all others."""
