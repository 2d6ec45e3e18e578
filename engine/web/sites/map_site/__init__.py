"""A map of the encyclopedia's invented country: its data, its search, its routes and its pages."""
