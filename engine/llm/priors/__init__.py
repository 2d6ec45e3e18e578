"""Priors without a language model, and mixtures of two priors."""
