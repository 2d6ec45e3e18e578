"""The prompts of MemRL."""
