"""Pages as text and as drawings of character cells."""
