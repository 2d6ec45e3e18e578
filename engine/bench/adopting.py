"""Takes recorded episodes as those of a cell, in place of playing: those that a training run was trained with."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from engine.codec import event_to_line
from engine.disk import shown, write_private
from engine.errors import StorageError, UsageError
from engine.records import EpisodeEnded, Event, SessionEnded, SessionStarted
from engine.session import recording
from engine.session.store import SavedSession


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
                        f"the episodes recorded in {shown(folder)} had {event.steps} steps at most, and those of the "
                        f"suite have {saved.config.settings.step_limit}"
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
                f"only {len(ended)} episodes are recorded in {shown(folder)}, and the suite wants {wanted}; play fewer "
                "with --episodes, or train longer"
            )
    raise UsageError(f"{shown(folder)} has no recorded episode of {saved.config.game}")


def _as_of(event: Event, saved: SavedSession) -> Event:
    if isinstance(event, SessionStarted):
        return dataclasses.replace(event, session=saved.name, episodes=saved.config.episodes)
    return event


def _write(saved: SavedSession, lines: list[str]) -> None:
    try:
        write_private(saved.recording, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StorageError(f"cannot write {saved.recording}: {error.strerror}; free some space") from None
