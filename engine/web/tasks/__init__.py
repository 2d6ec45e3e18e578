"""Tasks on web sites, and their judges."""
