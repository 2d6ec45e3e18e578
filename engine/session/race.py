"""A race: two to four agents play one game with one seed, and take their steps at the same time.

Each racer is a usual saved session with a memory of its own. What it does does not depend on the others: it is the same
as if it played alone. A race is a small file under `saves/races` that names its sessions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.disk import write_json
from engine.errors import BadFile, UsageError, did_you_mean
from engine.paths import ensure_folder
from engine.records import Decided, Event, Notice
from engine.session import recording
from engine.session import store as sessions
from engine.session.lockstep import GroupControl, Lockstep, Moment
from engine.session.store import SavedSession
from engine.settings import SessionConfig

FEWEST, MOST = 2, 4
"""Numbers of racers."""
_FORMAT = 1
_FOLDER = "races"


@dataclass(frozen=True, slots=True)
class Racer:
    """One of the agents of a race.

    Attributes:
        name: Its name in the race.
        session: Its session.
    """

    name: str
    session: SavedSession


@dataclass(frozen=True, slots=True)
class SavedRace:
    """A race on disk.

    Attributes:
        name: Its name.
        racers: Its agents, in their order on the screen.
    """

    name: str
    racers: tuple[Racer, ...]

    @property
    def game(self) -> str:
        """What is played."""
        return self.racers[0].session.config.game


@dataclass(frozen=True, slots=True)
class RacerEvent:
    """What one racer tells.

    Attributes:
        racer: Its number in the race, from 0.
        event: The event of its session.
    """

    racer: int
    event: Event


def create(saves: Path, arms: Sequence[tuple[str, SessionConfig]]) -> SavedRace:
    """Create a race with a session for each arm.

    Args:
        arms: Names and configurations.

    Raises:
        UsageError: There are too few or too many, two have the same name, or they differ in game, seed or episodes.
        StorageError: It cannot be written.
    """
    names = [name for name, _ in arms]
    if not FEWEST <= len(arms) <= MOST:
        raise UsageError(f"a race has {FEWEST} to {MOST} racers, not {len(arms)}")
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two racers are named {doubled!r}; name one of them otherwise: --arm NAME={doubled}")
    if len({(config.game, config.seed, config.episodes) for _, config in arms}) > 1:
        raise UsageError("all racers play the same game with the same seed, and as many episodes")
    racers = tuple(Racer(name, sessions.create(saves, config, "run")) for name, config in arms)
    name = sessions.new_name(arms[0][1].game)
    root = ensure_folder(saves / _FOLDER)
    listed = [{"name": racer.name, "session": racer.session.name} for racer in racers]
    write_json(root / f"{name}.json", {"format": _FORMAT, "racers": listed})
    return SavedRace(name, racers)


def load(saves: Path, name: str) -> SavedRace:
    """Return the race of this name; the newest for "last".

    Raises:
        UsageError: There is none.
        BadFile: It is damaged, of a newer version, or one of its sessions is missing.
    """
    there = saved_races(saves)
    if name == "last" and there:
        name = there[0]
    file = saves / _FOLDER / f"{name}.json"
    if "/" in name or not file.is_file():
        known = f"there are: {', '.join(there)}" if there else "none was run"
        raise UsageError(f"there is no race {name!r}{did_you_mean(name, there)}; {known}")
    with sessions.reading(f"the race in {file}", file, _FORMAT) as data:
        listed = [(str(each["name"]), str(each["session"])) for each in data["racers"]]
        if any("/" in session or session.startswith(".") for _, session in listed):
            raise BadFile("a session has no such name")
        if not FEWEST <= len(listed) <= MOST:
            raise BadFile(f"it has {len(listed)} racers")
    root = saves / "sessions"
    return SavedRace(name, tuple(Racer(arm, sessions.load(root / session)) for arm, session in listed))


def saved_races(saves: Path) -> list[str]:
    """Return the names of all races, newest first."""
    root = saves / _FOLDER
    return sorted((file.stem for file in root.glob("*.json")), reverse=True) if root.is_dir() else []


class Race:
    """A race that is being run, or resumed where it was left.

    Args:
        saved: The race on disk.
        saves: The saves folder.
        emit: Called with what each racer tells, from the racers' threads.
        paused: Whether to wait at the first step.

    Attributes:
        lockstep: Takes the commands: pause, resume, step, delay.
        errors: By racer: the sentence that its session ended with. The others go on.
    """

    def __init__(
        self, saved: SavedRace, saves: Path, emit: Callable[[RacerEvent], None], *, paused: bool = False
    ) -> None:
        count = len(saved.racers)
        self.lockstep = Lockstep(count, paused=paused)
        self.errors: dict[int, str] = {}
        self._saved, self._saves, self._emit = saved, saves, emit
        self._reins = [GroupControl(self.lockstep, who) for who in range(count)]
        self._unexpected: list[Exception] = []

    def run(self) -> None:
        """Play until all racers have ended. An error of one of them is in `errors`, and told as its `Notice`."""
        threads = [
            threading.Thread(target=self._race, args=(who, racer), name=f"racer {racer.name}", daemon=True)
            for who, racer in enumerate(self._saved.racers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._unexpected:
            raise self._unexpected[0]

    def stop(self) -> None:
        """End all sessions after the running step. The race can be resumed."""
        for reins in self._reins:
            reins.stop()

    def _race(self, who: int, racer: Racer) -> None:
        reins = self._reins[who]

        def emit(event: Event) -> None:
            if isinstance(event, Decided):
                reins.at = event.episode, event.decision.step
            self._emit(RacerEvent(who, event))

        from engine.session.loop import Session

        try:
            session = Session(racer.session, self._saves, emit, control=reins, takes_back=False)
            session.run()
            if session.error is not None:
                self.errors[who] = str(session.error)
        except Exception as error:  # a fault of ours; the others go on, and `run` raises it when they have ended
            self._unexpected.append(error)
            self.errors[who] = f"something went wrong that should not have ({type(error).__name__})"
            self._emit(RacerEvent(who, Notice("error", self.errors[who])))
        finally:
            self.lockstep.leave(who)


def moments(saved: SavedRace) -> Iterator[list[RacerEvent]]:
    """Yield what was told in a race, step by step: for each step, what each racer decided and what came of it.

    Raises:
        BadFile: A recording is damaged.
    """
    steps: dict[Moment, list[RacerEvent]] = {}
    for who, racer in enumerate(saved.racers):
        at: Moment = (0, 0)
        if not racer.session.recording.is_file():
            continue
        for _, event in recording.read(racer.session.recording):
            if isinstance(event, Decided):
                at = event.episode, event.decision.step
            steps.setdefault(at, []).append(RacerEvent(who, event))
    for at in sorted(steps):
        yield steps[at]
