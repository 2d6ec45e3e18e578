"""Exact retrieval by Jaccard similarity: columns of all steps, and an index of their tokens."""
