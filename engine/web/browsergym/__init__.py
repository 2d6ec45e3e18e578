"""BrowserGym's benchmarks, which run in a process of their own."""
