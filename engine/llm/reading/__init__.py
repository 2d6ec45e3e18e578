"""Readings: logits from a model's likelihoods, index tokens or words, and tests of how well a model does."""
