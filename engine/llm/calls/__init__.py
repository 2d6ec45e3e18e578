"""Calls to models: access to litellm, retries, limits, costs, and the cache of replies."""
