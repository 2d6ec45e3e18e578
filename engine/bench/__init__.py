"""Benchmarks: suites of tasks, agents, models and seeds, played in parallel, measured, and reported."""
