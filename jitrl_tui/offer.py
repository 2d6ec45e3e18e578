"""What the home screen offers: the games that are here."""

from __future__ import annotations

from pathlib import Path

from jitrl_tui.screens.home import GameRow


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
