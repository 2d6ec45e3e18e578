"""Valid actions of stories: grammar, names of objects, order of trying, search and cache."""
