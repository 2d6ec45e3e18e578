"""The prompts of ReasoningBank."""
