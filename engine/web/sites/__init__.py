"""Real web sites on this machine's loopback, filled with data of this project and reset by copying a file."""
