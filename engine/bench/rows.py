"""What is written of a cell: its episodes, what they took, and what they were played with.

All of it is read from the recordings and the memory of the cell. So a cell that was resumed several times has the
same rows as one that was played at once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from engine.bench.records import Cell, EpisodeRow, Leg, TimingRow
from engine.codec import to_plain
from engine.disk import write_private
from engine.errors import FailingAs, StorageError
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCall,
    ModelCalled,
    SessionStarted,
    Stepped,
    total_cost,
)
from engine.session import recording
from engine.session import store as sessions
from engine.session.manifest import counts, manifest
from engine.session.store import SavedSession

_Event = TypeVar("_Event", bound=Event)

EPISODES, TIMINGS, ABOUT, DONE = "episodes.jsonl", "timings.jsonl", "cell.json", "finished"
"""Files of a cell. The last one, which is empty, is there if all its legs were played."""

REPORTED_KEYS = ("settings", "reading", "replaced", "prompts", "stories", "overruled")
"""What the manifest of a run has of a cell's own."""
_NOT_IN_ROWS = ("calls", "cached", "retries")
"""Counts of a tally that depend on the cache or on the network."""


def session_name(number: int) -> str:
    """Return the name of the session of a leg."""
    return f"{number:03}"


def recorded(saved: SavedSession, kind: type[_Event]) -> tuple[_Event, ...]:
    """Return the events of a kind in the recording of a session; none if it has none.

    Raises:
        BadFile: Its recording is damaged.
    """
    if not saved.recording.is_file():
        return ()
    return tuple(event for _, event in recording.read(saved.recording) if isinstance(event, kind))


def read_cell(cell: Cell, folder: Path) -> tuple[list[EpisodeRow], list[TimingRow], dict[str, Any]]:
    """Return the finished episodes of a cell, what they took, and what they were played with.

    Args:
        cell: The cell.
        folder: Its folder.

    Raises:
        BadFile: A recording or the memory is damaged.
    """
    begun = list(_begun(cell, folder))
    owners, numbers = _remembered(cell, folder, begun)
    found: list[tuple[tuple[int, int, int], EpisodeRow, TimingRow]] = []
    about: dict[str, Any] = {}
    for session in begun:
        number, leg = session.number, cell.legs[session.number]
        about = about or manifest(session.started)
        about.setdefault("stories", {})[leg.task] = session.started.environment.digest
        for event, episode in session.episodes:
            other = episode.hits_of_others(owners.get(session.scope, {}), leg.task)
            row = _row(cell, number, leg, event, episode, other)
            # Workers that play at the same time play one task, and so have one scope with its numbers.
            at = (number // cell.workers, numbers.get(episode.uid, 0), event.episode)
            found.append((at, row, _timing(cell, number, event, episode)))
    about.pop("story", None)
    found.sort(key=lambda one: one[0])
    episodes = [replace(row, order=order) for order, (_, row, _) in enumerate(found, 1)]
    timings = [timing for _, _, timing in found]
    about["overruled"] = sum(row.overruled for row in episodes)
    return episodes, timings, about


def write(cell: Cell, folder: Path, *, done: bool) -> None:
    """Write the files of a cell, with the episodes that were played.

    Args:
        cell: The cell.
        folder: Its folder.
        done: Whether all its legs were played.

    Raises:
        StorageError: They cannot be written.
        BadFile: A recording or the memory is damaged.
    """
    episodes, timings, about = read_cell(cell, folder)
    with FailingAs(StorageError, f"cannot write to {folder}", "free some space"):
        write_private(folder / EPISODES, lines(episodes))
        write_private(folder / TIMINGS, lines(timings))
        write_private(folder / ABOUT, json.dumps(about, indent=1, sort_keys=True))
        if done:
            write_private(folder / DONE, "")


def lines(records: Sequence[EpisodeRow] | Sequence[TimingRow]) -> str:
    """Return records as lines of JSON."""
    return "".join(
        json.dumps(to_plain(record), ensure_ascii=False, separators=(",", ":")) + "\n" for record in records
    )


class _EpisodeTotals:
    """What a recording says of one episode.

    Args:
        events: Its events from its start to its end. An episode that was resumed may have calls and decisions twice.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.scores: list[float] = []
        self.calls: list[ModelCall] = []
        self.paid: list[ModelCall] = []
        self.hits: list[int] = []
        self.uid = next((event.uid for event in events if isinstance(event, EpisodeStarted)), "")
        self.overruled = 0
        decided: Decided | None = None
        known: set[tuple[int, str, str, str]] = set()
        for event in events:
            if isinstance(event, Decided):
                decided = event
                self.paid += event.decision.calls
            elif isinstance(event, ModelCalled):
                self.paid.append(event.call)
                key = (event.step, event.call.purpose, event.call.prompt, event.call.reply)
                if key not in known:
                    known.add(key)
                    self.calls.append(event.call)
            elif isinstance(event, Stepped):
                if not event.observation.broken:
                    self.scores.append(event.observation.score)
                self.overruled += event.provenance == "human"
                if decided is not None:
                    self.calls += decided.decision.calls
                    update = decided.decision.update
                    near = update.neighbours if update is not None else ()
                    self.hits += [one.episode for one in near if one.episode > 0]  # not the running one
                decided = None

    def hits_of_others(self, owners: Mapping[int, str], task: str) -> int:
        """Return the number of hits that come from other tasks.

        Args:
            owners: The task of an episode, by the episode's number in its scope.
            task: The task of this episode.
        """
        return sum(owners.get(episode, task) != task for episode in self.hits)


def _row(cell: Cell, number: int, leg: Leg, event: EpisodeEnded, episode: _EpisodeTotals, other: int) -> EpisodeRow:
    answers = {name: count for name, count in counts(event.tally).items() if name not in _NOT_IN_ROWS}
    return EpisodeRow(
        cell=cell.name,
        arm=cell.arm,
        agent=leg.config.agent,
        model=cell.model,
        task=leg.task,
        group=leg.group,
        seed=cell.seed,
        phase=leg.phase,
        leg=number,
        episode=event.episode,
        score=event.score,
        max_score=event.max_score,
        steps=event.steps,
        terminated=event.terminated,
        truncated=event.truncated,
        outcome=event.outcome,
        scores=tuple(episode.scores),
        changed=event.flips,
        entries=event.memory_entries,
        added=event.entries_added,
        calls=dict(sorted(Counter(call.purpose for call in episode.calls).items())),
        prompt_tokens=sum(call.prompt_tokens for call in episode.calls),
        completion_tokens=sum(call.completion_tokens for call in episode.calls),
        cost_usd=_rounded(total_cost(call.price_usd for call in episode.calls)),
        answers=answers,
        hits=len(episode.hits),
        hits_other=other,
        overruled=episode.overruled,
        failed=event.failed,
        ended_by=event.ended_by,
    )


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 9)


def _timing(cell: Cell, number: int, event: EpisodeEnded, episode: _EpisodeTotals) -> TimingRow:
    return TimingRow(
        cell=cell.name,
        leg=number,
        episode=event.episode,
        wall_s=round(event.wall_s, 3),
        model_s=round(sum(call.latency_s for call in episode.paid), 3),
        retrieval_s=event.retrieval_s,
        retrievals=event.retrievals,
        paid_usd=_rounded(event.cost_usd),
        paid_tokens=event.tokens,
        cached=event.tally.cached,
        retries=event.tally.retries,
        processor_s=event.processor_s,
    )


@dataclass(frozen=True, slots=True)
class _RecordedSession:
    """What the recording of a leg says.

    Attributes:
        number: Of the leg.
        started: The first event of the session.
        episodes: The end of each finished episode, with what came before it.
    """

    number: int
    saved: SavedSession
    started: SessionStarted
    episodes: tuple[tuple[EpisodeEnded, _EpisodeTotals], ...]

    @property
    def scope(self) -> str:
        """The name of its scope of memory."""
        return self.started.environment.scope


def _begun(cell: Cell, folder: Path) -> Iterator[_RecordedSession]:
    """Yield what each leg that was begun has recorded; each recording is read once."""
    for number in range(len(cell.legs)):
        if (folder / session_name(number) / recording.FILE_NAME).is_file():
            saved = sessions.load(folder / session_name(number))
            events = (event for _, event in recording.read(saved.recording))
            started = next((event for event in events if isinstance(event, SessionStarted)), None)
            if started is not None:
                yield _RecordedSession(number, saved, started, tuple(_episodes(events)))


def _episodes(events: Iterator[Event | None]) -> Iterator[tuple[EpisodeEnded, _EpisodeTotals]]:
    """Yield the end of each finished episode with what came before it."""
    running: list[Event] = []
    for event in events:
        if isinstance(event, EpisodeStarted):
            running = [event]
        elif isinstance(event, EpisodeEnded):
            yield event, _EpisodeTotals(running)
            running = []
        elif event is not None and not isinstance(event, SessionStarted):
            running.append(event)


def _remembered(
    cell: Cell, folder: Path, begun: Sequence[_RecordedSession]
) -> tuple[dict[str, dict[int, str]], dict[str, int]]:
    """Return what memory has of a cell's episodes; nothing for a cell with a single leg.

    Returns:
        The task of each episode, by scope and number of the episode; and its number, by its uid.
    """
    owners: dict[str, dict[int, str]] = {}
    numbers: dict[str, int] = {}
    if len(cell.legs) == 1 or not begun:
        return owners, numbers
    with sessions.open_memory(folder, begun[0].saved) as memory:
        for scope in {session.scope for session in begun}:
            mine = owners.setdefault(scope, {})
            for episode in memory.scope(scope).episodes():
                if episode.session.isdigit():
                    mine[episode.number] = cell.legs[int(episode.session)].task
                    numbers[episode.uid] = episode.number
    return owners, numbers
