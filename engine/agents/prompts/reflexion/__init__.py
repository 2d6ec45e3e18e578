"""The prompt of Reflexion."""
