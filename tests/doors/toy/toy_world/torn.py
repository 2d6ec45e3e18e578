"""What cannot be loaded."""

raise RuntimeError("the map is torn")
