"""Text adventures: stories, the worker that holds the interpreter, valid actions, states."""
