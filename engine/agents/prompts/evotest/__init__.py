"""The prompt of EvoTest."""
