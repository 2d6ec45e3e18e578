"""A story in its own process: the interpreter, its memory, and what can be read off its file."""
