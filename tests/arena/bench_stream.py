"""Cells and messages of a made-up benchmark, without games, models or workers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from engine.bench.records import (
    TEST,
    TRAIN,
    Began,
    Cell,
    CellStepped,
    Ended,
    Failed,
    Finished,
    Leg,
    Message,
    Said,
)
from engine.settings import SessionConfig


def cell(
    name: str, arm: str = "jitrl", tasks: Sequence[str] = ("pantry",), *, episodes: int = 3, seed: int = 1,
    model: str = "", train: Sequence[str] = (),
) -> Cell:  # fmt: skip
    """Return a cell with a leg of `episodes` episodes for each task, those of `train` first."""

    def leg(task: str, phase: str) -> Leg:
        config = SessionConfig(game=task, agent="jitrl", model=model, episodes=episodes, seed=seed)
        return Leg(task, task, phase, config)

    legs = (*(leg(task, TRAIN) for task in train), *(leg(task, TEST) for task in tasks))
    return Cell(name, arm, model, seed, legs)


def cells(
    arms: Sequence[str] = ("jitrl", "static", "memory"), tasks: Sequence[str] = ("zork1", "library"), seeds: int = 3,
    episodes: int = 20, model: str = "gemini/gemini-2.5-flash",
) -> list[Cell]:  # fmt: skip
    """Return the cells of a plan: tasks x arms x seeds."""
    return [
        cell(f"{task}-{arm}-{seed}", arm, (task,), episodes=episodes, seed=seed, model=model)
        for task in tasks for arm in arms for seed in range(1, seeds + 1)
    ]  # fmt: skip


def episode(one: Cell, leg: int, number: int, rng: random.Random, steps: int = 4) -> Iterator[Message]:
    """Yield the messages of one episode. Scores of the arm "jitrl" grow with the number of the episode."""
    score, tokens = 0.0, 0
    for step in range(1, steps + 1):
        score += rng.choice((0, 0, 1, 5)) + (number / 3 if one.arm == "jitrl" else 0)
        tokens += 700
        yield CellStepped(one.name, leg, number, step, round(score), "go north", tokens, tokens * 1e-6)
    wall = steps * rng.uniform(0.5, 1.5)
    yield Ended(one.name, leg, number, round(score), 350.0, steps, tokens, tokens * 1e-6, wall)


def life(one: Cell, seed: int = 1, steps: int = 4, fail_at: int = 0) -> Iterator[Message]:
    """Yield the messages of a cell. If `fail_at` is given, it fails after so many episodes."""
    rng = random.Random(f"{one.name} {seed}")
    yield Began(one.name)
    count = 0
    for leg, part in enumerate(one.legs):
        for number in range(1, part.config.episodes + 1):
            if fail_at and count == fail_at:
                yield Failed(one.name, "the worker was killed", lost=True)
                return
            yield from episode(one, leg, number, rng, steps)
            count += 1
    yield Finished(one.name)


def run(plan: Sequence[Cell], jobs: int = 4, fails: Sequence[str] = ()) -> Iterator[Message]:
    """Yield the messages of a run with `jobs` cells at the same time; cells in `fails` fail after some episodes."""
    rng = random.Random(7)
    waiting = list(plan)
    running: list[Iterator[Message]] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            one = waiting.pop(0)
            running.append(life(one, fail_at=3 if one.name in fails else 0))
            yield Said(one.name, "loading the model")
        stream = rng.choice(running)
        message = next(stream, None)
        if message is None:
            running.remove(stream)
        else:
            yield message
