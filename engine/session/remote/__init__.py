"""Sessions that are followed, and steered, from another process: both sides, and what lies between them."""
