"""The contents of the home screen: games, sessions, web tasks and benchmarks, and what is missing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import BadFile, JitrlError
from jitrl_tui.runs.memories import KnownMemory
from jitrl_tui.runs.session_summary import SessionSummary, summary_of

if TYPE_CHECKING:
    from engine.session.store import SavedSession

_MOST = 500
"""Largest number of sessions in the lists, the newest ones."""


@dataclass(frozen=True, slots=True)
class GameRow:
    """A game in the list of the home screen."""

    name: str
    title: str
    max_score: float | None = None
    shipped: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session that can be resumed or looked at.

    Attributes:
        finished: Whether all its episodes were played.
    """

    saved: SavedSession
    facts: SessionSummary = field(default_factory=SessionSummary)
    finished: bool = False

    @property
    def episode(self) -> int:
        """Number of the episode that it is in, or of the last one."""
        return min(len(self.facts.scores) + (not self.finished), self.saved.config.episodes)


@dataclass(frozen=True, slots=True)
class WebRow:
    """A web task.

    Attributes:
        name: Its name for `jitrl watch`.
        intent: What is asked.
        missing: The site that it needs and that is not here, "" if nothing is missing.
    """

    name: str
    intent: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A run of a benchmark.

    Attributes:
        finished: Number of its cells that are finished.
        cells: Number of its cells.
        changed: Unix time of its last change.
        played: Whether it is being played.
    """

    folder: Path
    title: str
    finished: int
    cells: int
    changed: float = 0.0
    played: bool = False


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A race that was run.

    Attributes:
        racers: Names of its racers.
        finished: Whether all of them have played all episodes.
        scores: The scores of each of them.
    """

    name: str
    game: str
    racers: Sequence[str]
    finished: bool
    scores: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True)
class HomeContents:
    """Everything on the home screen.

    Attributes:
        sessions: All with a step, the one played last first.
        missing: Sentences on web tasks that are not here, each with the command that gets them.
        message: A sentence for the top of the screen, "" for none.
        complete: Whether web tasks, runs, races and memories are there, too.
    """

    games: Sequence[GameRow]
    sessions: Sequence[SessionRow] = ()
    web: Sequence[WebRow] = ()
    missing: Sequence[str] = ()
    benches: Sequence[BenchRow] = ()
    message: str = ""
    races: Sequence[RaceRow] = ()
    memories: Sequence[KnownMemory] = ()
    complete: bool = True

    @property
    def unfinished(self) -> list[SessionRow]:
        """The sessions that can be resumed."""
        return [row for row in self.sessions if not row.finished]


def find_games(saves: Path, games: str | None) -> tuple[list[GameRow], str]:
    """Return the games, those that come with jitrl first, and a message for the screen ("" for none)."""
    try:
        from engine.games import catalogue
    except ImportError:
        return [], "This installation has no games."
    rows = [
        GameRow(game.name, game.title, game.max_score, game.shipped)
        for game in map(catalogue.with_facts, catalogue.list_games(games=games, saves=saves))
    ]
    return sorted(rows, key=lambda row: not row.shipped), ""


def find_sessions(saves: Path) -> list[SessionRow]:
    """Return the sessions that have a step, the one played last first; their scores are not read yet."""
    from itertools import islice

    from engine.session import store as sessions

    newest = islice(sessions.saved_sessions(saves), _MOST)
    rows = [SessionRow(saved, summary_of(saved.recording, scores=False), saved.finished()) for saved in newest]
    return [row for row in rows if row.facts.begun]


def find_web(saves: Path) -> tuple[list[WebRow], list[str]]:
    """Return the web tasks that are here, and a sentence for each thing that is missing."""
    from engine.web.browser import chromium
    from engine.web.sites.manager import SITES, Sites
    from engine.web.tasks import miniwob, suites

    missing: list[str] = []
    if why := chromium.missing():
        missing.append(why)
    states = Sites(saves, lambda text: None).status(())
    lacking = [status.name for status in states if status.state == "missing"]
    if lacking:
        missing.append(f"Not here: {', '.join(lacking)}. Get them with: jitrl web up --install")
    lacks = {key: name for name in lacking for key in SITES[name].keys}  # by the names that tasks have for sites
    rows = [
        WebRow(f"web:{task.id}", task.intent, next((lacks[key] for key in task.sites if key in lacks), ""))
        for task in suites.load("local", saves)
    ]
    with contextlib.suppress(JitrlError):  # it is among the missing sites
        rows += [WebRow(f"web:{task.id}", task.intent) for task in miniwob.list_tasks(saves)]
    return sorted(rows, key=lambda row: bool(row.missing)), missing


def find_benches(saves: Path) -> list[BenchRow]:
    """Return the runs of benchmarks, the newest first."""
    from engine.bench import folder as folders
    from engine.bench.manifest import MANIFEST, read_manifest
    from engine.bench.run_events import is_played

    rows = []
    for folder in folders.runs(saves):
        try:
            manifest = read_manifest(folder)
        except BadFile:
            continue
        states = [cell["state"] for cell in manifest["cells"].values()]
        changed = os.stat(folder / MANIFEST).st_mtime
        title, played = str(manifest.get("title", "")), is_played(folder)
        rows.append(BenchRow(folder, title, states.count("finished"), len(states), changed, played))
    return rows


def find_races(saves: Path) -> list[RaceRow]:
    """Return the races that were run, the newest first."""
    from engine.session import race as races

    rows = []
    for name in races.saved_races(saves):
        with contextlib.suppress(JitrlError):  # it is damaged, or one of its sessions was deleted
            race = races.load(saves, name)
            finished = all(racer.session.finished() for racer in race.racers)
            scores = [summary_of(racer.session.recording).scores for racer in race.racers]
            rows.append(RaceRow(name, race.game, [racer.name for racer in race.racers], finished, scores))
    return rows
