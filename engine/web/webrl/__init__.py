"""The prompt and the actions of WebRL's checkpoints: simplified HTML, rounds, and calls such as do(action="Click")."""
