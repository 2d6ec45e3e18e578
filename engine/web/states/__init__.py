"""From pages to states and histories, and memories told in the words of another task."""
