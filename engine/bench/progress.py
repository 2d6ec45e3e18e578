"""What is known of a benchmark while it runs: each cell, totals, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.bench.records import (
    TEST,
    Began,
    Cell,
    CellStepped,
    Ended,
    Failed,
    Finished,
    Message,
    Said,
    Stopped,
)
from engine.records import total_cost

State = Literal["waiting", "running", "failed", "stopped", "finished"]
_ACTIVE = ("waiting", "running")
"""States of cells that will be played further."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a run may cost at most; None for no limit.

    Attributes:
        usd: US dollars.
        tokens: Tokens of prompts and replies.
        minutes: Duration in minutes.
    """

    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None


@dataclass(slots=True)
class CellProgress:
    """What is known of one cell.

    Attributes:
        cell: The cell.
        state: Its state.
        leg: Number of the leg that is played, from 0.
        episode: Number of the episode that is played, from 1; 0 before the first step.
        step: Number of steps of this episode so far.
        score: Score of this episode so far.
        said: The worker's last sentence.
        error: Why the cell failed, "" if it did not.
        ended: Its finished episodes by (leg, episode).
        tokens: Tokens that it was charged, those of earlier lives included.
        usd: US dollars that it cost, those of earlier lives included.
    """

    cell: Cell
    state: State = "waiting"
    leg: int = 0
    episode: int = 0
    step: int = 0
    score: float = 0.0
    said: str = ""
    error: str = ""
    ended: dict[tuple[int, int], Ended] = field(default_factory=dict)
    tokens: int = 0
    usd: float | None = 0.0
    _paid: dict[tuple[int, int], tuple[int, float | None]] = field(default_factory=dict)
    _scores: tuple[float, ...] | None = None

    @property
    def done(self) -> int:
        """Number of finished episodes."""
        return len(self.ended)

    @property
    def of(self) -> int:
        """Number of planned episodes."""
        return self.cell.episodes

    @property
    def measured(self) -> int:
        """Number of planned episodes that are measured (phase "test")."""
        return sum(leg.config.episodes for leg in self.cell.legs if leg.phase == TEST)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that are measured, each once, in the order in which they are played."""
        return tuple(dict.fromkeys(leg.task for leg in self.cell.legs if leg.phase == TEST))

    @property
    def scores(self) -> tuple[float, ...]:
        """Scores of the finished episodes that are measured (phase "test"), in the order of the plan."""
        if self._scores is None:
            legs, workers = self.cell.legs, self.cell.workers
            # Workers that play at the same time are at about the same episode.
            played = sorted(self.ended, key=lambda at: (at[0] // workers, at[1], at[0]))
            self._scores = tuple(self.ended[at].score for at in played if legs[at[0]].phase == TEST)
        return self._scores

    @property
    def average(self) -> float | None:
        """Mean of `scores`, None before the first."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def in_episode(self) -> bool:
        """Whether an episode is being played that has not ended."""
        return self.episode > 0 and (self.leg, self.episode) not in self.ended

    def _charge(self, at: tuple[int, int], tokens: int, usd: float | None) -> tuple[int, float | None]:
        """Set what an episode was charged, unless more is known already; return what is new of it."""
        before = self._paid.get(at, (0, 0.0))
        unknown = usd is None or before[1] is None
        now = max(before[0], tokens), None if unknown else max(before[1] or 0.0, usd or 0.0)
        self._paid[at] = now
        self.tokens += now[0] - before[0]
        new = None if now[1] is None or before[1] is None else now[1] - before[1]
        self.usd = total_cost((self.usd, new))
        return now[0] - before[0], new

    def _add(self, message: Ended) -> None:
        self.ended[message.leg, message.episode] = message
        self._scores = None


@dataclass(slots=True)
class _Pace:
    """What episodes took that were played in this run."""

    episodes: int = 0
    steps: int = 0
    seconds: float = 0.0


class BenchProgress:
    """The state of a benchmark, computed from the messages of its cells.

    It has no clock: speed and remaining time come from the durations that `Ended` tells. An episode counts once, also
    if its cell is resumed and tells it again. It is charged with the largest amount that was told of it.

    Args:
        cells: All cells, in the order of the plan.
        jobs: Number of cells that are played at the same time.

    Attributes:
        cells: What is known of each cell, by its name, in the order of the plan.
        counts: Number of cells by state.
        episodes_done: Finished episodes of all cells.
        episodes_of: Planned episodes of all cells.
        tokens: Tokens that all cells were charged.
        usd: US dollars that all cells cost, None if a price is not known.
        said: The last sentence of any worker, None before the first.
    """

    def __init__(self, cells: Sequence[Cell], jobs: int = 1) -> None:
        self.cells = {cell.name: CellProgress(cell) for cell in cells}
        self.counts: Counter[State] = Counter()
        self.counts["waiting"] = len(self.cells)
        self.episodes_done = 0
        self.episodes_of = sum(cell.episodes for cell in cells)
        self.tokens = 0
        self.usd: float | None = 0.0
        self.said: Said | None = None
        self._jobs = max(1, jobs)
        self._steps = 0
        self._paces: dict[tuple[str, ...], _Pace] = {}
        self._timed: set[tuple[str, int, int]] = set()
        self._left: dict[str, Counter[tuple[str, ...]]] = {}
        self._todo: Counter[tuple[str, ...]] = Counter()
        for cell in cells:
            left = self._left[cell.name] = Counter()
            for leg in cell.legs:
                left[_key(cell, leg.task)] += leg.config.episodes
            self._todo.update(left)

    def apply(self, message: Message) -> None:
        """Take a message in.

        Raises:
            KeyError: There is no cell of its name.
        """
        one = self.cells[message.cell]
        match message:
            case Began():
                one.error = ""
                self._move(one, "running")
            case CellStepped():
                self._count_steps(one, message)
                self._charge(one, message)
            case Ended():
                self._end(one, message)
                self._charge(one, message)
            case Said():
                one.said, self.said = message.message, message
            case Finished():
                self._move(one, "finished")
            case Failed():
                one.error = message.message
                self._move(one, "failed")
            case Stopped():
                self._move(one, "stopped")

    @property
    def steps(self) -> int:
        """Number of steps of all finished episodes and of those that are being played."""
        return self._steps

    @property
    def over(self) -> bool:
        """Whether no cell is left to be played."""
        return not self._active

    @property
    def speed(self) -> float | None:
        """Steps per second of all jobs together; None before the first episode of this run has ended."""
        pace = self._paces.get(())
        return pace.steps / pace.seconds * self._parallel if pace else None

    @property
    def eta(self) -> float | None:
        """Seconds until all cells are played; None before the first episode of this run has ended.

        The expected duration of an episode is the mean of those played by the same arm on the same task, if there are
        none, of those of the same arm, or of all.
        """
        left = 0.0
        for key, episodes in self._todo.items():
            if episodes > 0:
                pace = self._pace(key)
                if pace is None:
                    return None
                left += episodes * pace.seconds / pace.episodes
        if self.counts["running"]:
            left -= sum(self._elapsed(one) for one in self.cells.values() if one.state == "running")
        return max(0.0, left) / self._parallel

    @property
    def _active(self) -> int:
        return self.counts["waiting"] + self.counts["running"]

    @property
    def _parallel(self) -> int:
        return max(1, min(self._jobs, self._active))

    def _pace(self, key: tuple[str, ...]) -> _Pace | None:
        return self._paces.get(key) or self._paces.get(key[:2]) or self._paces.get(())

    def _elapsed(self, one: CellProgress) -> float:
        """Return the expected seconds that the present episode of a cell has taken so far."""
        pace = self._pace(_key(one.cell, one.cell.legs[one.leg].task)) if one.in_episode else None
        if pace is None or not pace.steps:
            return 0.0
        return min(one.step, pace.steps / pace.episodes) * pace.seconds / pace.steps

    def _move(self, one: CellProgress, state: State) -> None:
        """Change the state of a cell."""
        before, one.state = one.state, state
        self.counts[before] -= 1
        self.counts[state] += 1
        left = self._left[one.cell.name]
        if before in _ACTIVE and state not in _ACTIVE:
            self._todo.subtract(left)
        elif before not in _ACTIVE and state in _ACTIVE:
            self._todo.update(left)

    def _count_steps(self, one: CellProgress, message: CellStepped) -> None:
        self._steps -= one.step if one.in_episode else 0
        one.leg, one.episode, one.step = message.leg, message.episode, message.step
        one.score = message.score
        self._steps += one.step if one.in_episode else 0

    def _end(self, one: CellProgress, message: Ended) -> None:
        at = message.leg, message.episode
        before = one.ended.get(at)
        if before is None:
            self.episodes_done += 1
            key = _key(one.cell, one.cell.legs[message.leg].task)
            self._left[one.cell.name][key] -= 1
            if one.state in _ACTIVE:
                self._todo[key] -= 1
            if one.in_episode and at == (one.leg, one.episode):
                self._steps -= one.step
        self._steps += message.steps - (before.steps if before else 0)
        one._add(message)
        if not message.again:
            self._time(one.cell, message)

    def _time(self, cell: Cell, message: Ended) -> None:
        """Note what an episode took, once."""
        if (cell.name, message.leg, message.episode) in self._timed or message.wall_s <= 0:
            return
        self._timed.add((cell.name, message.leg, message.episode))
        key = _key(cell, cell.legs[message.leg].task)
        for part in (key, key[:2], ()):
            pace = self._paces.setdefault(part, _Pace())
            pace.episodes += 1
            pace.steps += message.steps
            pace.seconds += message.wall_s

    def _charge(self, one: CellProgress, message: CellStepped | Ended) -> None:
        tokens, usd = one._charge((message.leg, message.episode), message.paid_tokens, message.paid_usd)
        self.tokens += tokens
        self.usd = total_cost((self.usd, usd))


def _key(cell: Cell, task: str) -> tuple[str, ...]:
    return cell.arm, cell.model, task
