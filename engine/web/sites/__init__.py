"""Real web sites on this machine's loopback, with data of this project; a reset copies the data files again."""
