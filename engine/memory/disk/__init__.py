"""Files of memory: journal lines, journals, TinyDB on top of them."""
