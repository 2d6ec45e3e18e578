"""The measures of a benchmark: from the episodes of a task and seed to numbers, and from these to means with intervals.

A *unit* of a table is one task played with one seed. Its measure is computed from its episodes of the phase "test".
Only finished units are averaged. Values of a column with one task are averaged over seeds. In a column with several
tasks, those of a task are averaged over its seeds first, and then over the tasks. Intervals are bootstrap intervals;
the same values give the same interval in every run.
"""

from __future__ import annotations

import functools
import itertools
import statistics as plain
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.bench import samples
from engine.bench.records import EpisodeRow, TimingRow
from engine.bench.samples import NONE, Samples
from engine.errors import UsageError
from engine.records import total_cost

RESAMPLES = 10_000
"""Number of resamples of an interval."""
BOOTSTRAP_SEED = 20260125
"""Seed of the resamples. Every interval starts from it."""
CONFIDENCE = 0.95
"""Share of intervals that should contain the true mean."""

LEAST_UNITS = 3
"""Units below which no interval is given: that of two values would be the two values."""

Numbers = npt.NDArray[np.float64]


def interval(values: Any) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a mean.

    Args:
        values: One finite number per unit, for instance per seed.

    Returns:
        The lower and the upper end; None with fewer than LEAST_UNITS values.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"an interval needs a list of numbers, not an array of {found.ndim} dimensions")
    if len(found) < LEAST_UNITS:
        return None
    low, high = _ends(found[:, None])
    return float(low[0]), float(high[0])


def band(curves: Any) -> tuple[Numbers, Numbers] | None:
    """Return the percentile bootstrap interval of a mean curve, point by point.

    Args:
        curves: One row per unit, one column per point of the curve.

    Returns:
        The lower and the upper ends, one number per point; None with fewer than LEAST_UNITS rows.
    """
    found = np.asarray(curves, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"a band needs rows of numbers, not an array of {found.ndim} dimensions")
    return None if len(found) < LEAST_UNITS else _ends(found)


def _ends(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of the intervals of the columns' means."""
    means = _weights(len(values)) @ values
    # Rounding must not put an end outside the values, so that equal values have an interval of no width.
    means = np.clip(means, values.min(axis=0), values.max(axis=0))
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside], axis=0)
    return low, high


@functools.lru_cache(maxsize=8)
def _weights(units: int) -> Numbers:
    """Return the weights of the units in every resample: a row per resample, a column per unit. Rows sum to 1."""
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = rng.integers(0, units, size=(RESAMPLES, units))
    places = drawn + units * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=RESAMPLES * units)
    weights: Numbers = counts.reshape(RESAMPLES, units) / units
    weights.flags.writeable = False
    return weights


LAST = 10
"""Number of episodes that the measure `last10` averages."""

Key = tuple[str, int]
"""A task and a seed."""


CERTAIN_UNITS = 5
"""Units below which no difference is called certain: a bootstrap of two or three has intervals that are too narrow."""


@dataclass(frozen=True, slots=True)
class ScoredEpisodes:
    """The test episodes of one task and seed, in the order of play.

    Attributes:
        rows: The episodes.
        timings: What they took. Episodes without a timing have none.
        before: The samples before the first of them: training of the model, and episodes of the phase "train".
    """

    rows: tuple[EpisodeRow, ...]
    timings: tuple[TimingRow, ...] = ()
    before: Samples = NONE

    @property
    def samples(self) -> tuple[Samples, ...]:
        """The samples up to each episode, those before included."""
        took = {(one.leg, one.episode): one for one in self.timings}
        each = (samples.episode_samples(row, took.get((row.leg, row.episode))) for row in self.rows)
        return tuple(itertools.accumulate(each, initial=self.before))[1:]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that is computed from the episodes of one task and seed.

    Attributes:
        name: Its name in suites and in CSV files.
        title: Its heading in tables.
        meaning: What it is, a sentence for the notes.
        unit: "score", "share", "steps", "tokens", "calls", "usd", "s", "ms" or "max" (score / max_score).
        better: 1 if more is better, -1 if less is better, 0 if neither.
        function: Returns the number, None if these episodes have none.
        timed: Whether it depends on how long something took, so that it differs from run to run.
    """

    name: str
    title: str
    meaning: str
    unit: str
    better: int
    function: Callable[[ScoredEpisodes], float | None]
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """The mean of a measure in one place of a table.

    Attributes:
        mean: The mean, None if no unit has a value.
        low: Lower end of its interval, None without one.
        high: Upper end.
        n: Number of units that were averaged: seeds if there is one task, else tasks.
    """

    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    @property
    def certain(self) -> bool:
        """Whether the interval does not contain 0, and rests on enough units."""
        wide = self.low is None or self.high is None or self.n < CERTAIN_UNITS
        return not wide and ((self.low or 0.0) > 0 or (self.high or 0.0) < 0)


@dataclass(frozen=True, slots=True)
class MeanCurve:
    """The mean score by episode.

    Attributes:
        x: Samples up to each episode, the mean over units.
        mean: The mean over units, from the first episode on.
        low: Lower ends of the intervals, None with one unit.
        high: Upper ends.
        n: Number of units.
    """

    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None
    n: int


def _mean(numbers: Iterable[float]) -> float | None:
    found = list(numbers)
    return plain.fmean(found) if found else None


def _cost(rows: Sequence[EpisodeRow]) -> float | None:
    spent = total_cost(row.cost_usd for row in rows)
    return spent / len(rows) if rows and spent is not None else None


def _ratio(above: float, below: float) -> float | None:
    return above / below if below else None


def _score(of: Callable[[list[float]], float]) -> Callable[[ScoredEpisodes], float | None]:
    """Return a measure of the scores; None without episodes."""
    return lambda played: of([row.score for row in played.rows]) if played.rows else None


def _answers(played: ScoredEpisodes, name: str) -> int:
    return sum(row.answers.get(name, 0) for row in played.rows)


def _auc(played: ScoredEpisodes) -> float | None:
    """Return the mean of score / max_score; None if a highest score is not known or not positive."""
    if any(row.max_score is None or row.max_score <= 0 for row in played.rows):
        return None
    return _mean(row.score / row.max_score for row in played.rows if row.max_score)


def _retrieval(played: ScoredEpisodes) -> float | None:
    took = sum(timing.retrieval_s for timing in played.timings)
    return _ratio(1000 * took, sum(timing.retrievals for timing in played.timings))


MEASURES: Mapping[str, Measure] = {
    one.name: one
    for one in (
        Measure("avg", "Avg", "mean score of all episodes", "score", 1, _score(plain.fmean)),
        Measure("final", "Final", "score of the last episode", "score", 1, _score(lambda scores: scores[-1])),
        Measure("first", "First", "score of the first episode", "score", 1, _score(lambda scores: scores[0])),
        Measure("last10", f"Last {LAST}", f"mean score of the last {LAST} episodes", "score", 1,
                _score(lambda scores: plain.fmean(scores[-LAST:]))),
        Measure("best", "Best", "highest score of an episode", "score", 1, _score(max)),
        Measure("worst", "Worst", "lowest score of an episode", "score", 1, _score(min)),
        Measure("auc", "AUC", "mean of score / highest possible score over the episodes, as in J-TTL", "max", 1, _auc),
        Measure("success", "Success", "share of episodes that were won, or reached the highest score", "share", 1,
                lambda played: _mean(float(won(row)) for row in played.rows)),
        Measure("steps", "Steps", "steps of an episode", "steps", 0,
                lambda played: _mean(row.steps for row in played.rows)),
        Measure("tokens", "Tokens", "tokens of prompts and replies, per episode", "tokens", -1,
                lambda played: _mean(row.prompt_tokens + row.completion_tokens for row in played.rows)),
        Measure("calls", "Calls", "model calls, per episode", "calls", -1,
                lambda played: _mean(sum(row.calls.values()) for row in played.rows)),
        Measure("cost", "Cost", "US dollars for model calls, per episode", "usd", -1,
                lambda played: _cost(played.rows)),
        Measure("wall", "Wall time", "seconds, per episode", "s", -1,
                lambda played: _mean(timing.wall_s for timing in played.timings), timed=True),
        Measure("processor", "Processor", "processor seconds, per episode", "s", -1,
                lambda played: _mean(timing.processor_s for timing in played.timings), timed=True),
        Measure("retrieval", "Retrieval", "milliseconds, per retrieval from memory", "ms", -1, _retrieval, timed=True),
        Measure("unusable", "Unusable", "share of decisions without a usable answer of the model", "share", -1,
                lambda played: _ratio(_answers(played, "missing"), _answers(played, "asked"))),
        Measure("neighbours", "Neighbours", "share of decisions with neighbours N(s), of those that looked for some in "
                "a memory that was not empty", "share", 0,
                lambda played: _ratio(_answers(played, "found"), _answers(played, "searched"))),
        Measure("changed", "Changed", "share of steps whose action the update of the logits changed, broken ties apart",
                "share", 0,
                lambda played: _ratio(sum(row.changed for row in played.rows), sum(row.steps for row in played.rows))),
        Measure("own", "Own choice", "share of decisions with a usable answer that took the model's own first choice",
                "share", 0,
                lambda played: _ratio(_answers(played, "own"), _answers(played, "own") + _answers(played, "other"))),
        Measure("other_share", "From other tasks", "share of remembered steps in use that came from other tasks",
                "share", 0,
                lambda played: _ratio(
                    sum(row.hits_other for row in played.rows), sum(row.hits for row in played.rows))),
    )
}  # fmt: skip
"""All measures by name, in the order of display."""


def measure(name: str) -> Measure:
    """Return the measure with this name.

    Raises:
        UsageError: There is none.
    """
    if name not in MEASURES:
        raise UsageError(f"there is no measure {name!r}; choose among: {', '.join(MEASURES)}")
    return MEASURES[name]


def won(row: EpisodeRow) -> bool:
    """Return whether an episode counts as a success: it was won, or has the highest score there is."""
    return row.outcome == "won" or (row.max_score is not None and 0 < row.max_score <= row.score)


def values(one: Measure, units: Mapping[Key, ScoredEpisodes], normalised: bool = False) -> dict[Key, float]:
    """Return a measure of each unit that has one.

    Args:
        units: Finished units by task and seed.
        normalised: Divide scores by the highest possible score. Units without a known one have no value.
    """
    found = {}
    for key, played in units.items():
        value = one.function(played)
        if value is not None and normalised and one.unit == "score":
            most = played.rows[0].max_score
            value = value / most if most is not None and most > 0 else None
        if value is not None:
            found[key] = value
    return found


def mean(found: Mapping[Key, float]) -> Value:
    """Return the mean of values by task and seed, with its interval: over seeds, or over tasks if there are several."""
    units = over_units(found)
    if not units:
        return Value(None)
    ends = interval(units)
    low, high = ends if ends is not None else (None, None)
    return Value(plain.fmean(units), low, high, len(units))


def difference(found: Mapping[Key, float], reference: Mapping[Key, float]) -> Value:
    """Return the mean of the paired differences found - reference, with its interval.

    A pair is the same task with the same seed. Units without a partner are left out.
    """
    return mean({key: value - reference[key] for key, value in found.items() if key in reference})


def over_units(found: Mapping[Key, float]) -> list[float]:
    """Return the values that a column is averaged over: one per seed, or one per task if there are several tasks."""
    tasks: dict[str, list[float]] = {}
    for task, seed in sorted(found):
        tasks.setdefault(task, []).append(found[task, seed])
    if len(tasks) == 1:
        return next(iter(tasks.values()))
    return [plain.fmean(seeds) for seeds in tasks.values()]


def curve(units: Mapping[Key, ScoredEpisodes], normalised: bool = False, per: str = "episode") -> MeanCurve | None:
    """Return the mean score by episode with its interval; None if no unit has an episode.

    It is as long as the shortest unit. As in `mean`, a task's seeds are averaged first if there are several tasks.

    Args:
        per: What samples are counted in, one of `samples.PER`.
    """
    scores, places = {}, {}
    for key, played in units.items():
        most = played.rows[0].max_score if normalised and played.rows else 1.0
        if played.rows and most is not None and most > 0:
            scores[key] = [row.score / most for row in played.rows]
            places[key] = [one.amount(per) for one in played.samples]
    if not scores:
        return None
    length = min(map(len, scores.values()))
    matrix, at = _by_unit(scores, length), _by_unit(places, length).mean(axis=0)
    ends = band(matrix)
    low, high = (tuple(map(float, end)) for end in ends) if ends is not None else (None, None)
    return MeanCurve(tuple(map(float, at)), tuple(map(float, matrix.mean(axis=0))), low, high, len(matrix))


def _by_unit(found: Mapping[Key, Sequence[float]], length: int) -> Numbers:
    """Return a row for each unit that is averaged: a seed, or a task if there are several tasks."""
    tasks: dict[str, list[Sequence[float]]] = {}
    for task, seed in sorted(found):
        tasks.setdefault(task, []).append(found[task, seed][:length])
    stacked: list[Numbers] = [np.array(seeds, dtype=np.float64) for seeds in tasks.values()]
    return stacked[0] if len(stacked) == 1 else np.array([seeds.mean(axis=0) for seeds in stacked])
