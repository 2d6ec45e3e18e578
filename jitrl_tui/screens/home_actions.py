"""What the home screen does with a saves folder, and the screens that it opens, which are imported only then."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.session import edits
from engine.session import store as sessions
from jitrl_tui.arguments import racers
from jitrl_tui.preferences import current, usual_delay
from jitrl_tui.runs import memories, memory_summary, start_checks
from jitrl_tui.runs.home_contents import (
    BenchRow,
    HomeContents,
    RaceRow,
    find_benches,
    find_games,
    find_races,
    find_sessions,
    find_web,
)
from jitrl_tui.runs.session_summary import summary_of

if TYPE_CHECKING:
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig
    from jitrl_tui.runs.memory_summary import ScopeSummary
    from jitrl_tui.screens.bench import BenchScreen
    from jitrl_tui.screens.memory import MemoryScreen
    from jitrl_tui.screens.race import RaceScreen
    from jitrl_tui.screens.watch import WatchScreen


@dataclass(frozen=True, slots=True)
class StoredHome:
    """The saves folder behind the home screen. Everything may raise a `JitrlError`.

    Attributes:
        watch: Returns the screen of a saved session.
        games: Folder with more stories.
    """

    saves: Path
    watch: Callable[[SavedSession], WatchScreen]
    games: str | None = None

    def load(self) -> HomeContents:
        """Return what is found quickly: games and sessions, without scores. It is called in another thread."""
        games, message = find_games(self.saves, self.games)
        problems = current().problems
        said = problems[0] if problems else message
        return HomeContents(games, find_sessions(self.saves), message=said, complete=False)

    def scores(self, found: HomeContents) -> HomeContents:
        """Return the contents with the scores of the sessions."""
        rows = [dataclasses.replace(row, facts=summary_of(row.saved.recording)) for row in found.sessions]
        return dataclasses.replace(found, sessions=rows)

    def complete(self, found: HomeContents) -> HomeContents:
        """Return the contents with everything else: web tasks, runs, races and memories."""
        web, missing = find_web(self.saves)
        return dataclasses.replace(
            found, web=web, missing=missing, benches=find_benches(self.saves), races=find_races(self.saves),
            memories=memories.list_memories(self.saves), complete=True,
        )  # fmt: skip

    def begin(self, config: SessionConfig, *, play: bool = False) -> WatchScreen:
        """Create a session, in which a person plays if `play` says so, and return its screen."""
        start_checks.check_game(config, self.saves)
        return self.watch(sessions.create(self.saves, config, "play" if play else "watch"))

    def memory(self, folder: Path | None = None) -> MemoryScreen:
        """Return a screen with a memory; None for the shared one. Leaving it goes back.

        Raises:
            UsageError: Nothing is remembered yet.
        """
        from engine.environments import scope_rules
        from engine.memory.memory_factory import open_memory
        from jitrl_tui.screens.memory import MemoryScreen

        folder = self.saves / "memory" if folder is None else folder
        memory = open_memory(folder, self.saves, follow=False, rules=scope_rules) if folder.is_dir() else None
        if memory is None or not memory.scopes():
            if memory is not None:
                memory.close()
            raise UsageError("Nothing is remembered yet: an episode is remembered when it ends.")
        return MemoryScreen(memory, "", self.saves, close=True)

    def known(self, folder: Path | None = None) -> list[ScopeSummary]:
        """Return what a memory knows; None for the shared one. It is called in another thread."""
        return memory_summary.read(self.saves / "memory" if folder is None else folder, self.saves)

    def race(self, config: SessionConfig) -> RaceScreen:
        """Begin a race of an agent against the model alone, each with a memory of its own, and return its screen."""
        from engine.session import race as races
        from jitrl_tui.runs.race_source import LiveRace
        from jitrl_tui.screens.race import RaceScreen

        start_checks.check_game(config, self.saves)
        arms = [(agent, dataclasses.replace(config, agent=agent, memory="own")) for agent in racers(config.agent)]
        race = races.create(self.saves, arms)
        return RaceScreen(LiveRace(race, self.saves), race, self.saves, delay=usual_delay(), from_home=True)

    def raced(self, row: RaceRow) -> RaceScreen:
        """Return the screen of a race that was run: it goes on, or is shown again if it is finished."""
        from engine.session import race as races
        from jitrl_tui.runs.race_source import LiveRace, RecordedRace
        from jitrl_tui.screens.race import RaceScreen

        race = races.load(self.saves, row.name)
        source = RecordedRace(race) if row.finished else LiveRace(race, self.saves)
        return RaceScreen(source, race, self.saves, delay=usual_delay(), from_home=True)

    def go_on(self, saved: SavedSession) -> WatchScreen:
        """Return the screen of a saved session."""
        start_checks.check_player(saved.config)
        return self.watch(saved)

    def change(self, saved: SavedSession, model: str, profile: str) -> WatchScreen:
        """Create a session that goes on from another one, and return its screen."""
        changed = edits.successor(saved, model=model, profile=profile)
        start_checks.check_player(changed)
        return self.watch(edits.go_on_with(self.saves, saved, changed))

    def delete(self, saved: SavedSession) -> None:
        """Delete a session."""
        edits.delete(self.saves, saved)

    def rename(self, saved: SavedSession, name: str) -> None:
        """Give a session another name."""
        edits.rename(self.saves, saved, name)

    def recording(self, saved: SavedSession) -> WatchScreen:
        """Return a screen with the recording of a session. Leaving it goes back."""
        from jitrl_tui.screens.recordings import RecordingScreen

        return RecordingScreen(saved.folder)

    def bench(self, row: BenchRow) -> BenchScreen:
        """Return a screen with a run of a benchmark. Leaving it goes back."""
        from jitrl_tui.runs.bench_source import source_of
        from jitrl_tui.screens.bench import BenchScreen

        return BenchScreen(source_of(row.folder), over=True)
