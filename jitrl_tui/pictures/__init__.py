"""Pictures in terminals: detection of what the terminal supports, encoding, and half-blocks as a fallback."""
