"""The rows of the lists on the home screen."""

from __future__ import annotations

import time

from textual.content import Content

from jitrl_tui.offer import BenchRow, GameRow, SessionRow, WebRow
from jitrl_tui.view import points
from jitrl_tui.widgets.lines import MUTED, STRONG, fit

_WIDE = 110
"""Columns from which rows of sessions have the name of the session, too."""


def game_line(game: GameRow, width: int) -> Content:
    """Return the row of a game."""
    note = f"{points(game.max_score)} points" if game.max_score else ""
    mark = "shipped" if game.shipped else "yours"
    room = max(8, width - 24)
    return Content.assemble(
        (fit(game.title or game.name, room), STRONG),
        (f"{note:>12}", ""),
        (f"  {mark:<8}", ""),
    )


def session_head(width: int) -> Content:
    """Return the headings over rows of sessions."""
    cells = [fit(title, size) for title, size in zip(_TITLES, _sizes(width), strict=True) if size]
    return Content.styled(" ".join(cells), MUTED)


_TITLES = ("game", "agent", "model", "episode", "last/avg/best", "changed", "session")


def _sizes(width: int) -> tuple[int, ...]:
    """Return the widths of the columns of a row of a session, and 0 for a column that is left out."""
    fixed = (8, 7, 16, 11)
    name = 30 if width >= _WIDE else 0
    left = min(70, max(20, width - sum(fixed) - name - 6))
    game = max(9, left * 2 // 5)
    return (game, fixed[0], left - game, *fixed[1:], name)


def session_line(row: SessionRow, width: int) -> Content:
    """Return the row of a session: what is played, by whom, how far it is, its scores, and when it changed last."""
    config, facts = row.saved.config, row.facts
    scores = "–"
    if facts.average is not None and facts.last is not None and facts.best is not None:
        scores = f"{points(facts.last)}/{facts.average:.1f}/{points(facts.best)}"
    texts = (
        config.game.rsplit("/", 1)[-1], config.agent, config.model, f"{row.episode}/{config.episodes}", scores,
        when(facts.changed), row.saved.name,
    )  # fmt: skip
    cells = [fit(text, size) if size else "" for text, size in zip(texts, _sizes(width), strict=True)]
    return Content.assemble((cells[0], STRONG), " " + " ".join(cells[1:]).rstrip())


def session_about(row: SessionRow) -> str:
    """Return more about a session, in a sentence or two."""
    config, facts = row.saved.config, row.facts
    top = f" of {points(facts.max_score)}" if facts.max_score is not None else ""
    played = f"{len(facts.scores)} of {config.episodes} episodes played"
    best = f", best score {points(facts.best)}{top}" if facts.best is not None else ""
    memory = "the game's shared memory" if config.memory == "shared" else "a memory of its own"
    return f"{row.saved.name}: profile {config.profile}, seed {config.seed}, {memory}; {played}{best}."


def web_line(row: WebRow, width: int) -> Content:
    """Return the row of a web task."""
    intent = f"needs {row.missing}: {row.intent}" if row.missing else row.intent
    name = fit(row.name.removeprefix("web:"), 16)
    return Content.assemble((name, "" if row.missing else STRONG), " " + fit(intent, max(8, width - 17)))


def bench_line(row: BenchRow, width: int) -> Content:
    """Return the row of a benchmark's run."""
    room = max(20, width - 32)
    name = room * 3 // 5
    state = "finished" if row.finished == row.cells else f"{row.finished}/{row.cells} cells"
    return Content.assemble(
        (fit(row.folder.name, name), STRONG), " " + fit(row.title, room - name), " ",
        f"{state:>14}", "  ", when(row.changed),
    )  # fmt: skip


def when(at: float) -> str:
    """Return month, day, hour and minute of a Unix time, "" for 0 and for times that no calendar has."""
    try:
        return time.strftime("%m-%d %H:%M", time.localtime(at)) if at else ""
    except (OverflowError, OSError, ValueError):
        return ""
