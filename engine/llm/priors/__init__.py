"""Priors without a language model, and two priors as one."""
