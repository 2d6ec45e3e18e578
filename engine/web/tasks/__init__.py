"""Tasks on web sites, and who says whether they were done."""
