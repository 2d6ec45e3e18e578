"""Pages as text and drawings in cells."""
