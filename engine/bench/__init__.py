"""Protocol, suites, reports and published numbers."""
