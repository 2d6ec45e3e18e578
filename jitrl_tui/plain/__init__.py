"""The plain mode, which prints labelled lines, for screen readers, pipes and simple terminals."""
