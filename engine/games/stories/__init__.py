"""Stories made for this project, with the recipes that make them again."""
