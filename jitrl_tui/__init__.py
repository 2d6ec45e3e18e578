"""The user interfaces: command line, Textual screens and plain terminal."""
