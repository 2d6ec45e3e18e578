"""BrowserGym's benchmarks, by a process of their own."""
