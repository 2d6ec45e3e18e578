"""Plays the cell of a benchmark: its sessions one after the other, in the cell's folder.

Each session is a usual one, with a recording. So a cell that was stopped or killed goes on where it was left. Episodes
that a training run was trained with are taken as those of a cell, in place of playing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

from engine import trust
from engine.bench import rows
from engine.bench.records import Began, Cell, CellStepped, Ended, Failed, Finished, Message, Said, Stopped
from engine.codec import event_to_line, to_plain
from engine.disk import printable, write_private
from engine.environments import kind_of
from engine.errors import FailingAs, JitrlError, StorageError, UsageError
from engine.kinds import EnvironmentContext
from engine.paths import ensure_folder
from engine.records import EpisodeEnded, Event, Notice, SessionEnded, SessionStarted, Steered, Waiting
from engine.records import Stepped as StepTaken
from engine.session import recording
from engine.session import store as sessions
from engine.session.control import Control
from engine.session.loop import Session
from engine.session.remote.commands import HOLD, STEP
from engine.session.shared import play_in_turn
from engine.session.store import SavedSession
from engine.settings.address import in_space, is_address


def play(cell: Cell, folder: Path, saves: Path, send: Callable[[Message], None], control: Control) -> None:
    """Play what is left of a cell. How it ended is told, not raised.

    Args:
        cell: The cell.
        folder: Folder of the cell. It is created.
        saves: The saves folder, for caches of models and games.
        tell: Called with each message.
        control: Its `stop` ends the cell after the running step.
    """
    send(Began(cell.name))
    try:
        ensure_folder(folder)
        for number in range(0, len(cell.legs), cell.workers):
            if not _legs(cell, number, folder, saves, send, control):
                rows.write(cell, folder, done=False)
                send(Stopped(cell.name))
                return
        rows.write(cell, folder, done=True)
    except JitrlError as error:
        with contextlib.suppress(JitrlError):
            rows.write(cell, folder, done=False)
        send(Failed(cell.name, str(error), error.exit_code, everywhere=isinstance(error, StorageError)))
        return
    send(Finished(cell.name))


def open_leg(cell: Cell, number: int, folder: Path) -> SavedSession:
    """Return the session of a leg; a missing one is created. The first one has the memory, and the others use it.

    On a server, the memory of each cell has a space of its own, named after run and cell.

    Raises:
        StorageError: It cannot be written.
        BadFile: An existing one is damaged.
        UsageError: An existing one has another configuration.
    """
    place = folder / rows.session_name(number)
    config = cell.legs[number].config
    memory = "own" if number == 0 else f"own:{rows.session_name(0)}"
    trust.confirm(*sessions.named_places(config), keep=False)  # by the command that began us
    if is_address(config.memory):
        memory = in_space(config.memory, f"{folder.parent.parent.name}/{cell.name}")
    config = dataclasses.replace(config, memory=memory)
    if not (place / sessions.CONFIG).is_file():
        return sessions.create_in(place, config, "run")
    saved = sessions.load(place)
    now = dataclasses.replace(
        saved.config, episodes=max(saved.config.episodes, config.episodes), games=config.games
    )  # the run got more episodes, or is on another machine
    if now != saved.config:
        saved = sessions.create_in(place, now, saved.kind, saved.origin)
    if to_plain(saved.config) != to_plain(config):
        raise UsageError(
            f"the session in {place} was begun with other settings (another version of jitrl?); begin a new run"
        )
    return saved


def _legs(
    cell: Cell, number: int, folder: Path, saves: Path, send: Callable[[Message], None], control: Control
) -> bool:
    """Play what is left of a leg, or of those that its workers play in turn; return whether all are finished."""
    if cell.workers == 1:
        return _leg(cell, number, folder, saves, send, control)
    taken = [len(rows.recorded(open_leg(cell, number + who, folder), StepTaken)) for who in range(cell.workers)]
    lock = threading.Lock()

    def send_locked(message: Message) -> None:
        with lock:  # workers that are stopped end at the same time
            send(message)

    def play_one(who: int, its_control: Control) -> bool:
        return _leg(cell, number + who, folder, saves, send_locked, its_control)

    return play_in_turn(taken, play_one, control)


def _leg(
    cell: Cell, number: int, folder: Path, saves: Path, send: Callable[[Message], None], control: Control
) -> bool:
    """Play what is left of a leg; return whether it is finished."""
    saved = open_leg(cell, number, folder)
    if cell.legs[number].recorded and not saved.finished():
        _adopt(cell, number, saved, saves)
    played = rows.recorded(saved, EpisodeEnded)
    for event in played:
        send(_ended(cell.name, number, event, again=True))
    if saved.finished() and len(played) >= saved.config.episodes:
        return True
    session = _session(cell.name, number, saved, saves, send, control, len(played))
    finished = session.run().finished
    if isinstance(session.error, recording.NotRepeatable):
        # The torn episode cannot be resumed, and it taught nothing yet. It is set apart and played anew.
        send(Said(cell.name, f"{session.error} The episode is played anew."))
        recording.set_torn_apart(saved.recording)
        session = _session(cell.name, number, saved, saves, send, control, len(played))
        finished = session.run().finished
    if session.error is not None:
        raise session.error
    return finished


def _adopt(cell: Cell, number: int, saved: SavedSession, saves: Path) -> None:
    """Take recorded episodes in place of playing."""
    leg = cell.legs[number]
    environment = kind_of(leg.task).open(leg.task, EnvironmentContext(saves, leg.config.games))
    try:
        scope = environment.info.scope
    finally:
        environment.close()
    adopt(saved, Path(leg.recorded).expanduser(), scope)


def _session(
    name: str,
    number: int,
    saved: SavedSession,
    saves: Path,
    send: Callable[[Message], None],
    control: Control,
    known: int,
) -> Session:
    """Return the session of a leg. Its events after the first `known` episodes are told as messages."""

    def emit(event: Event) -> None:
        if isinstance(event, EpisodeEnded) and event.episode > known:
            send(_ended(name, number, event))
        elif isinstance(event, StepTaken) and event.episode > known:
            send(
                CellStepped(
                    name, number, event.episode, event.step + 1, event.observation.score, event.action,
                    event.tokens, event.cost_usd,
                )
            )  # fmt: skip
        elif isinstance(event, Notice) and event.level == "warning":
            send(Said(name, event.message))
        elif isinstance(event, Steered) and event.accepted and event.command != STEP:
            limits = "; the limits of the run go on" if event.command == HOLD else ""
            send(Said(name, f"{event.message}{limits}"))
        elif isinstance(event, Waiting) and event.seconds > 1:
            send(Said(name, f"{event.reason}: next try in {event.seconds:.0f} s"))

    return Session(saved, saves, emit, control=control, takes_back=False)


def _ended(name: str, number: int, event: EpisodeEnded, *, again: bool = False) -> Ended:
    return Ended(
        name, number, event.episode, event.score, event.max_score, event.steps, event.tokens, event.cost_usd,
        event.wall_s, again,
    )  # fmt: skip


def adopt(saved: SavedSession, folder: Path, scope: str) -> None:
    """Copy the first episodes of a recording into a session that was not begun, and finish it.

    Args:
        saved: The session; it wants as many episodes as its configuration says.
        folder: Folder with the recording, or with several of which one was played in the right environment.
        scope: Scope of that environment.

    Raises:
        UsageError: There is no such recording, it has too few episodes, or other settings.
        BadFile: A recording is damaged.
        StorageError: It cannot be written.
    """
    wanted = saved.config.episodes
    for path in recording.below(folder):
        lines: list[str] = []
        ended: list[EpisodeEnded] = []
        for at, event in recording.read(path):
            if isinstance(event, SessionStarted):
                if event.environment.scope != scope:
                    break
                if event.steps != saved.config.settings.step_limit:
                    raise UsageError(
                        f"the episodes recorded in {printable(folder)} had {event.steps} steps at most, and those of "
                        f"the suite have {saved.config.settings.step_limit}"
                    )
            lines.append(event_to_line(_as_of(event, saved), at))
            if isinstance(event, EpisodeEnded):
                ended.append(event)
                if len(ended) == wanted:
                    scores = [one.score for one in ended]
                    end = SessionEnded(True, wanted, sum(scores) / wanted, scores[-1])
                    _write(saved, [*lines, event_to_line(end, at)])
                    return
        if ended:
            raise UsageError(
                f"only {len(ended)} episodes are recorded in {printable(folder)}, and the suite wants {wanted}; play "
                "fewer with --episodes, or train longer"
            )
    raise UsageError(f"{printable(folder)} has no recorded episode of {saved.config.game}")


def _as_of(event: Event, saved: SavedSession) -> Event:
    if isinstance(event, SessionStarted):
        return dataclasses.replace(event, session=saved.name, episodes=saved.config.episodes)
    return event


def _write(saved: SavedSession, lines: list[str]) -> None:
    with FailingAs(StorageError, f"cannot write {saved.recording}", "free some space"):
        write_private(saved.recording, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
