"""What the home screen offers: the games that are here, and the sessions to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.session.store import SavedSession


@dataclass(frozen=True, slots=True)
class GameRow:
    """A game as the home screen lists it."""

    name: str
    title: str
    max_score: float | None = None
    shipped: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be done from here: games to begin, sessions to go on with."""

    games: Sequence[GameRow]
    sessions: Sequence[SavedSession] = ()
    message: str = ""


def find_games(saves: Path, games: str | None) -> tuple[list[GameRow], str]:
    """Return the games, shipped ones first, and a sentence for the screen ("" if all is well)."""
    try:
        from engine.games import catalogue
    except ImportError:
        return [], "This installation has no games."
    rows = [
        GameRow(game.name, game.title, game.max_score, game.shipped)
        for game in catalogue.list_games(games=games, saves=saves)
    ]
    return sorted(rows, key=lambda row: not row.shipped), ""
