"""What is known of a run, without Textual: sources, views, and texts about them."""
