"""The front ends: command line, Textual cockpit and plain terminal."""
