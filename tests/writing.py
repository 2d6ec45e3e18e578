"""What an abstractor needs to let a model write, with lists in place of a session."""

from __future__ import annotations

from typing import Any

from engine.environment import Writing
from engine.session.model_texts import Writer
from engine.settings import Settings


def writing(model: Any, told: list[str], spent: list[Any] | None = None, **settings: Any) -> Writing:
    """Return a Writing that puts notices into `told` and calls into `spent`, None for every text that was missed."""
    calls = [] if spent is None else spent
    write = Writer(model, calls.append, lambda: None)
    return Writing(write, Settings(**settings), told.append, lambda: calls.append(None))
