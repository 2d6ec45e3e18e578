"""How far a model's step rewards go with the score of the environment, on recorded episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.environments import kind_of
from engine.errors import UsageError
from engine.llm.model import Model
from engine.records import Trajectory
from engine.session import recording
from engine.session.live import step_of
from engine.session.recorded_steps import RecordedEpisode, SessionReader
from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class JudgedEpisode:
    """A recorded episode, judged by a model.

    Attributes:
        source: Name of its session, or of its cell in a run.
        episode: Its number there, from 1.
        steps: Number of its steps.
        points: Change of the score at each step with a usable score of the model.
        rewards: The model's score of these steps.
        calls: Number of calls.
        tokens: Tokens of prompts and answers.
        note: Why steps have no usable score, "" if all have one.
    """

    source: str
    episode: int
    steps: int
    points: tuple[float, ...]
    rewards: tuple[float, ...]
    calls: int
    tokens: int
    note: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a model's scores go with changes of the score.

    Attributes:
        steps: Number of steps that were shown.
        judged: Those with a usable score of the model.
        rho: Spearman's rank correlation over them, -1 to 1; None if one of the two is the same everywhere.
        pairs: Pairs of a step that gained points and one of the same episode that did not.
        right: Share of pairs in which the first one has the higher score, equals counted half; .5 by chance. None
            without pairs.
        equal: Share of pairs with equal scores.
        gained: Mean score of steps that gained points; None if there are none.
        others: Mean score of the others.
    """

    steps: int
    judged: int
    rho: float | None
    pairs: int
    right: float | None
    equal: float | None
    gained: float | None
    others: float | None


def tellable(recordings: Iterable[tuple[Path, str]]) -> list[tuple[str, int, Trajectory]]:
    """Return the finished episodes of recordings in which some steps gained points and some did not.

    Args:
        recordings: Recordings, each with what to call it, "" for the name of its folder.

    Raises:
        UsageError: One is of web tasks, whose steps have no score.
        BadFile: One is damaged.
    """
    found = []
    for path, name in recordings:
        for number, trajectory in trajectories(path):
            gains = [step.env_reward > 0 for step in trajectory.steps]
            if any(gains) and not all(gains):
                found.append((name or path.parent.name, number, trajectory))
    return found


def trajectories(path: Path) -> Iterator[tuple[int, Trajectory]]:
    """Yield the number of each finished episode of a recording, and what an evaluator is told of it.

    Raises:
        UsageError: It is of web tasks.
        BadFile: It is damaged.
    """
    reader = SessionReader()
    for past in reader.episodes(recording.read(path)):
        if reader.started is not None and kind_of(reader.started.environment.name).name == "web":
            raise UsageError("steps on the web have no score to compare with: only its end is scored")
        if past.ended and past.steps:
            yield past.started.episode, _trajectory(past)


def _trajectory(past: RecordedEpisode) -> Trajectory:
    taken_steps = past.steps
    steps = tuple(step_of(one.decision, one.decision.state, one.before, one.after) for one in taken_steps)
    last = taken_steps[-1].after
    return Trajectory(
        steps, taken_steps[-1].decision.state, (*(one.before.text for one in taken_steps), last.text),
        terminated=last.terminated, truncated=not last.terminated, outcome=last.outcome,
    )  # fmt: skip


def judge_episodes(
    model: Model, chosen: Sequence[tuple[str, int, Trajectory]], settings: Settings
) -> Iterator[JudgedEpisode]:
    """Let the evaluator of `rewards=llm` judge episodes, and yield each.

    Args:
        chosen: Some of `tellable`.
        settings: Those of the evaluator.
    """
    from engine.evaluator import make_evaluator

    evaluator = make_evaluator(replace(settings, rewards="llm"), model)
    for source, number, trajectory in chosen:
        found = evaluator.rewards(trajectory)
        yield JudgedEpisode(
            source, number, len(trajectory.steps), tuple(trajectory.steps[t].env_reward for t in found.scored),
            tuple(found.rewards[t] for t in found.scored), len(found.calls),
            sum(call.prompt_tokens + call.completion_tokens for call in found.calls), found.note,
        )  # fmt: skip


def agreement(judged: Sequence[JudgedEpisode]) -> Agreement:
    """Return how far the scores go with the changes of the score, over all episodes together."""
    points = [one for episode in judged for one in episode.points]
    rewards = [one for episode in judged for one in episode.rewards]
    gained = [reward for point, reward in zip(points, rewards, strict=True) if point > 0]
    others = [reward for point, reward in zip(points, rewards, strict=True) if point <= 0]
    signs = [sign for episode in judged for sign in _pairs(episode)]
    return Agreement(
        steps=sum(episode.steps for episode in judged),
        judged=len(points),
        rho=spearman(points, rewards),
        pairs=len(signs),
        right=(sum(sign > 0 for sign in signs) + signs.count(0) / 2) / len(signs) if signs else None,
        equal=signs.count(0) / len(signs) if signs else None,
        gained=float(np.mean(gained)) if gained else None,
        others=float(np.mean(others)) if others else None,
    )


def _pairs(episode: JudgedEpisode) -> list[int]:
    """Return for each pair of a gain and another step: 1 if the gain has the higher score, 0 if both have the same."""
    both = list(zip(episode.points, episode.rewards, strict=True))
    return [
        int(np.sign(high - low)) for point, high in both if point > 0 for other, low in both if other <= 0
    ]


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, None if one of the two is the same everywhere."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return ranks from 1; equals share theirs."""
    array = np.asarray(values, dtype=np.float64)
    return np.asarray([(array < value).sum() + ((array == value).sum() + 1) / 2 for value in array])
