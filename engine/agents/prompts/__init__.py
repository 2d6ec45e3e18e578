"""The prompts of methods that let the model write, a folder each."""
