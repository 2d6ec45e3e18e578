"""One file a method; each turns an observation into a decision."""
