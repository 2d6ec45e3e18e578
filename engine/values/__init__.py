"""Where V and Q come from."""
