"""Stories made with TextWorld for this project, and the code that makes them."""
