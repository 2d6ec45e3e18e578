"""Retrieval by sentence embeddings."""
