"""The prompt of AWM."""
