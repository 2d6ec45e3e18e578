"""The contents of the home screen: available games, and sessions to resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.session.store import SavedSession


@dataclass(frozen=True, slots=True)
class GameRow:
    """A game in the list of the home screen."""

    name: str
    title: str
    max_score: float | None = None
    shipped: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """The games and sessions on the home screen."""

    games: Sequence[GameRow]
    sessions: Sequence[SavedSession] = ()
    message: str = ""


def find_games(saves: Path, games: str | None) -> tuple[list[GameRow], str]:
    """Return the games, those that come with jitrl first, and a message for the screen ("" for none)."""
    try:
        from engine.games import catalogue
    except ImportError:
        return [], "This installation has no games."
    rows = [
        GameRow(game.name, game.title, game.max_score, game.shipped)
        for game in catalogue.list_games(games=games, saves=saves)
    ]
    return sorted(rows, key=lambda row: not row.shipped), ""
