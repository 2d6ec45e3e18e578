"""The rows of the lists on the home screen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from textual.content import Content
from textual.widgets.option_list import Option

from engine.environments import kind_of
from engine.errors import JitrlError
from engine.settings import SessionConfig, differences
from jitrl_tui.runs.home_contents import BenchRow, GameRow, HomeContents, RaceRow, SessionRow, WebRow
from jitrl_tui.runs.memories import KnownMemory
from jitrl_tui.runs.view import points
from jitrl_tui.widgets.lines import MUTED, STRONG, fit

_WITH_SETTINGS, _WIDE = 105, 155
"""Columns from which rows of sessions have what differs from the default, and the name of the session, too."""
CURVE = 12
"""Columns of the scores as small bars."""
_WITH_CURVE = 90
"""Columns from which rows of sessions have them at this size."""
_SHORT_CURVE, _WITH_SHORT_CURVE = 8, 76
"""Their columns in narrower lists, down to which rows of sessions have them."""


_FIRST = (
    "It plays, remembers each step, and gets better at it. Nothing is downloaded, and nothing costs.",
    "While it plays, space pauses, o takes another action than it wants, and e explains each number.",
    "6 lets you play a game yourself, 7 shows how much memory helps.",
)
"""Sentences below the games for who has played nothing yet."""


def of_section(
    contents: HomeContents, name: str, width: int, sort: str
) -> tuple[list[Option], list[Option], list[Option]]:
    """Return what stands above the rows of a section, its rows, and what stands below. Ids of rows say what they are.

    Args:
        sort: The order of sessions, one of `SORTS`.
    """
    above: list[Option] = []
    below: list[Option] = []
    if name in ("start", "play", "race"):
        rows = [
            Option(game_line(game, width, sessions_of(contents.sessions, game.name)), id=f"start:{game.name}")
            for game in contents.games
        ]
        if name == "start" and not contents.sessions:
            below = [Option(Content.styled(f"\n{text}"), disabled=True) for text in _FIRST]
        if name == "race":
            rows += [Option(race_line(row, width), id=f"race:{row.name}") for row in contents.races]
    elif name == "memories":
        rows = [Option(memory_line(one, width), id=f"memory:{one.folder}") for one in contents.memories]
    elif name == "web":
        rows = [Option(web_line(row, width), id=row.name) for row in contents.web]
        above = [Option(Content.styled(text, MUTED), disabled=True) for text in contents.missing]
    elif name == "benches":
        rows = [Option(bench_line(row, width), id=f"bench:{row.folder.name}") for row in contents.benches]
    else:
        sessions = sort_sessions(contents.unfinished if name == "resume" else contents.sessions, sort)
        rows = [
            Option(session_line(row, width, depth), id=f"{name}:{row.saved.name}")
            for row, depth in sessions
        ]
        above = [Option(session_head(width, sort), disabled=True)] if rows else []
    return above, rows, below


def sessions_of(sessions: Sequence[SessionRow], game: str) -> list[SessionRow]:
    """Return the sessions of a game, the one played last first."""
    return [row for row in sessions if row.saved.config.game == game]


def game_line(game: GameRow, width: int, sessions: Sequence[SessionRow] = ()) -> Content:
    """Return the row of a game: its points, and scores and best of the session with the highest score."""
    note = f"{points(game.max_score)} points" if game.max_score else ""
    mark = "shipped" if game.shipped else "yours"
    played = ""
    if width >= _WITH_CURVE // 2:
        scored = [row.facts for row in sessions if row.facts.best is not None]
        best = max(scored, key=lambda facts: facts.best or 0.0, default=None)
        bars = sparkline(best.scores, CURVE) if best is not None else ""
        played = f"{bars:>{CURVE}}  {'best ' + points(best.best or 0.0) if best is not None else '':<9}"
    room = max(8, width - 24 - len(played))
    return Content.assemble((fit(game.title or game.name, room), STRONG), (f"{note:>12}", ""), f"  {mark:<8}", played)


SORTS: Mapping[str, Callable[[SessionRow], Any]] = {
    "changed": lambda row: 0,
    "game": lambda row: row.saved.config.game.rsplit("/", 1)[-1],
    "model": lambda row: row.saved.config.model,
    "last/avg/best": lambda row: -(row.facts.best if row.facts.best is not None else float("-inf")),
}
"""Orders of sessions, by the column that they go by: as they are offered (the one played last first), by the name of
the game or the model, the best score first."""


def sort_sessions(rows: Sequence[SessionRow], sort: str) -> list[tuple[SessionRow, int]]:
    """Return sessions in one of `SORTS`, each with the number of sessions that it is branched from.

    In the first order branches follow the session that they come from. In others none has such a number.
    """
    inner = {row.saved.name for row in rows}
    below: dict[str, list[SessionRow]] = {}
    for row in sorted(rows, key=SORTS[sort]):
        origin = row.saved.origin
        branched = sort == next(iter(SORTS)) and origin is not None and origin.session in inner
        below.setdefault(origin.session if branched and origin is not None else "", []).append(row)

    def tree(name: str, depth: int) -> Iterator[tuple[SessionRow, int]]:
        for row in below.get(name, ()):
            yield row, depth
            yield from tree(row.saved.name, depth + 1)

    return list(tree("", 0))


def session_head(width: int, sort: str) -> Content:
    """Return the headings over rows of sessions, with a mark on the column that they are sorted by."""
    titles = [f"{title} ▾" if title == sort else title for title in _TITLES]
    cells = [fit(title, size) for title, size in zip(titles, _sizes(width), strict=True) if size]
    return Content.styled(" ".join(cells), MUTED)


_TITLES = ("game", "agent", "model", "episode", "last/avg/best", "scores", "changed", "settings", "session")
_BARS = "▁▂▃▄▅▆▇█"


def _sizes(width: int) -> tuple[int, ...]:
    """Return the widths of the columns of a row of a session, and 0 for a column that is left out."""
    curve = CURVE if width >= _WITH_CURVE else _SHORT_CURVE if width >= _WITH_SHORT_CURVE else 0
    fixed = (8, 7, 16, curve, 11)
    name = 30 if width >= _WIDE else 0
    settings = 20 if width >= _WITH_SETTINGS else 0
    left = min(70, max(20, width - sum(fixed) - name - settings - 7))
    game = max(9, left * 2 // 5)
    rest = max(0, width - sum(fixed) - name - settings - 7 - left)
    return (game, fixed[0], left - game, *fixed[1:], settings + rest if settings else 0, name)


def session_line(row: SessionRow, width: int, depth: int = 0) -> Content:
    """Return the row of a session: what is played, by whom, how far it is, its scores, and when it changed last.

    Args:
        depth: How many sessions above it it is branched from.
    """
    branch = "  " * (depth - 1) + "└ " if depth else ""
    config, facts = row.saved.config, row.facts
    scores = "–" if facts.read else "…"
    if facts.average is not None and facts.last is not None and facts.best is not None:
        scores = f"{points(facts.last)}/{facts.average:.1f}/{points(facts.best)}"
    episode = row.episode if facts.read else "…"
    sizes = _sizes(width)
    texts = (
        branch + config.game.rsplit("/", 1)[-1], config.agent, config.model, f"{episode}/{config.episodes}", scores,
        sparkline(facts.scores, sizes[5]), date_text(facts.changed), ", ".join(_unusual(row)) if sizes[7] else "",
        row.saved.name,
    )  # fmt: skip
    cells = [fit(text, size) if size else "" for text, size in zip(texts, sizes, strict=True)]
    return Content.assemble((cells[0], STRONG), " " + " ".join(cells[1:]).rstrip())


def sparkline(scores: Sequence[float], width: int) -> str:
    """Return scores as bars, one for each episode; of more than fit, means of neighbouring ones."""
    count = min(len(scores), width)
    groups = [scores[at * len(scores) // count : (at + 1) * len(scores) // count] for at in range(count)]
    means = [sum(group) / len(group) for group in groups]
    low, high = min([0.0, *means]), max([0.0, *means])
    return "".join(_BARS[round((mean - low) / ((high - low) or 1.0) * (len(_BARS) - 1))] for mean in means)


def session_facts(row: SessionRow) -> list[str]:
    """Return sentences about a session. The first one is its name."""
    config, facts, origin = row.saved.config, row.facts, row.saved.origin
    top = f" of {points(facts.max_score)}" if facts.max_score is not None else ""
    best = f", best score {points(facts.best)}{top}" if facts.best is not None else ""
    played = f"{len(facts.scores) if facts.read else '…'} of {config.episodes} episodes played{best}"
    by = f"{config.agent} with {config.model}, profile {config.profile}, seed {config.seed}"
    found = [row.saved.name, played, by]
    if changed := _changes(row):
        found.append("settings: " + ", ".join(changed))
    found.append("the game's shared memory" if config.memory == "shared" else "a memory of its own")
    if origin is not None:
        found.append(f"branched from {origin.session}, episode {origin.episode}, after {origin.step} steps")
    return found


def _changes(row: SessionRow) -> list[str]:
    """Return the settings that differ from the profile."""
    config = row.saved.config
    with contextlib.suppress(JitrlError):  # a profile, or a kind of environment, that is not here any more
        usual = kind_of(config.game).profile(config.profile)
        return [f"{name}={now}" for name, (_, now) in differences(usual, config.settings).items()]
    return []


def _unusual(row: SessionRow) -> list[str]:
    """Return what is not the default: profile, settings, memory."""
    config, usual = row.saved.config, SessionConfig("")
    profile = [config.profile] if config.profile != usual.profile else []
    return [*profile, *_changes(row), *(["own memory"] if config.memory != usual.memory else [])]


def web_line(row: WebRow, width: int) -> Content:
    """Return the row of a web task."""
    intent = f"needs {row.missing}: {row.intent}" if row.missing else row.intent
    name = fit(row.name.removeprefix("web:"), 16)
    return Content.assemble((name, "" if row.missing else STRONG), " " + fit(intent, max(8, width - 17)))


def bench_line(row: BenchRow, width: int) -> Content:
    """Return the row of a benchmark's run."""
    room = max(20, width - 32)
    name = room * 3 // 5
    state = "finished" if row.finished == row.cells else f"{'▸ ' * row.played}{row.finished}/{row.cells} cells"
    return Content.assemble(
        (fit(row.folder.name, name), STRONG), " " + fit(row.title, room - name), " ",
        f"{state:>14}", "  ", date_text(row.changed),
    )  # fmt: skip


def race_line(row: RaceRow, width: int) -> Content:
    """Return the row of a race that was run."""
    state = "finished" if row.finished else "goes on"
    room = max(20, width - 10)
    name = room // 2
    racers = f"{row.game.rsplit('/', 1)[-1]}: {' against '.join(row.racers)}"
    return Content.assemble((fit(racers, name), STRONG), " " + fit(row.name, room - name), f"{state:>9}")


def memory_line(memory: KnownMemory, width: int) -> Content:
    """Return the row of a memory."""
    room = max(20, width - 26)
    cells = f"{memory.size / 1000:>10,.0f} kB  {date_text(memory.changed):>11}"
    return Content.assemble((fit(memory.title, room), STRONG), cells)


def date_text(at: float) -> str:
    """Return month, day, hour and minute of a Unix time, "" for 0 and for times that no calendar has."""
    try:
        return time.strftime("%m-%d %H:%M", time.localtime(at)) if at else ""
    except (OverflowError, OSError, ValueError):
        return ""
