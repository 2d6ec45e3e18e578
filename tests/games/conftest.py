"""Stories that several tests of a file open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine.games.zmachine import analysis


@pytest.fixture(scope="module")
def analysed_once() -> Iterator[None]:
    """Find out about each story once, as where there is a cache folder. Valid actions are searched each time."""
    known: dict[tuple[bytes, int], dict[str, Any]] = {}
    find_out = analysis._find_out

    def once(machine: Any, story: Any, grammar: Any, player: int) -> dict[str, Any]:
        key = bytes(story.data), player
        if key not in known:
            known[key] = find_out(machine, story, grammar, player)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "_find_out", once)
        yield
