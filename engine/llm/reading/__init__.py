"""From what a model says to logits: likelihoods, index tokens, words; and how well it does."""
