"""The error of an environment that cannot be played. Raised in the worker process only."""

from __future__ import annotations


class Unfit(Exception):
    """The environment exists but cannot be played as text. The message says what was found and what is needed."""
