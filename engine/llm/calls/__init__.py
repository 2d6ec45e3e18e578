"""Calls to a model, whatever it is: the seam to litellm, retries, limits, accounts, what is kept."""
