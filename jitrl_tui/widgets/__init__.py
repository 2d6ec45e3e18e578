"""The pieces of the screens, one a file."""
