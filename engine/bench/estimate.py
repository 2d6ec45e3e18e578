"""An estimate of a run before it begins: steps, model calls, tokens, money and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.agents import AGENTS
from engine.bench import folder as folders
from engine.bench.reader import records
from engine.bench.records import TEST, TRAIN, Cell, EpisodeRow, Leg, TimingRow
from engine.bench.rows import EPISODES, TIMINGS
from engine.errors import JitrlError
from engine.llm.listed import list_price

PROMPT_TOKENS, REPLY_TOKENS = 1500, 150
"""Tokens of a call for which nothing was measured: a usual action prompt of a text adventure and its answer."""

JUDGED_STEPS = 15
"""Steps that the evaluator judges in one call."""

_RUNS = 5
"""Number of earlier runs that are read for what a step took."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run takes at most, if no episode ends before its step limit.

    Attributes:
        cells: Number of cells.
        episodes: Number of episodes.
        steps: Number of steps.
        calls: Number of model calls.
        tokens: Tokens of prompts and replies.
        usd: US dollars; None if the price of a model is not known.
        seconds: Duration; None if an earlier run with the same agent and model is missing.
        measured: Whether tokens and seconds come from earlier runs alone.
    """

    cells: int
    episodes: int
    steps: int
    calls: int
    tokens: int
    usd: float | None
    seconds: float | None
    measured: bool


@dataclass(slots=True)
class _Rate:
    """What was measured in earlier runs for an agent with a model."""

    steps: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0


def estimate(cells: Sequence[Cell], saves: Path, jobs: int) -> Estimate:
    """Return an estimate for cells that are to be played.

    Args:
        cells: The cells.
        saves: The saves folder, whose earlier runs tell what a step took.
        jobs: Number of cells that are played at the same time.
    """
    rates = _measured(saves)
    steps = calls = tokens = 0
    usd: float | None = 0.0
    seconds: float | None = 0.0
    measured = True
    for cell in cells:
        rate = rates.get((cell.agent, cell.model))
        for leg in cell.legs:
            most = leg.config.episodes * leg.config.settings.step_limit
            steps += most
            asked = _calls(leg) if cell.model and not _free(cell.model) else 0
            prompt, reply = asked * PROMPT_TOKENS, asked * REPLY_TOKENS
            if rate is not None and rate.steps:
                asked = round(rate.calls / rate.steps * most)
                prompt, reply = (
                    round(each / rate.steps * most) for each in (rate.prompt_tokens, rate.completion_tokens)
                )
                seconds = None if seconds is None else seconds + rate.seconds / rate.steps * most
            else:
                measured, seconds = False, None
            calls += asked
            tokens += prompt + reply
            cost = list_price(cell.model, prompt, reply) if cell.model else 0.0
            usd = None if usd is None or cost is None else usd + cost
    return Estimate(
        cells=len(cells),
        episodes=sum(cell.episodes for cell in cells),
        steps=steps,
        calls=calls,
        tokens=tokens,
        usd=usd,
        seconds=None if seconds is None else seconds / max(1, min(jobs, len(cells))),
        measured=measured,
    )


def _calls(leg: Leg) -> int:
    """Return the number of model calls of a leg, if each episode has as many steps as it may."""
    settings, method = leg.config.settings, AGENTS.find(leg.config.agent)
    learns = method.learns and not leg.config.frozen
    a_step = 1 + (method.learns and settings.state == "llm") + (settings.history in ("llm", "vision"))
    an_episode = settings.step_limit * a_step + (method.writes and not leg.config.frozen)
    if learns and settings.rewards != "score":
        an_episode += -(-settings.step_limit // JUDGED_STEPS)
    return int(leg.config.episodes * an_episode)


def _free(model: str) -> bool:
    """Whether a model runs without language model calls."""
    return all(part.startswith("prior/") for part in model.split("+"))


def _measured(saves: Path) -> dict[tuple[str, str], _Rate]:
    """Return what a step took in the newest runs, by agent and model."""
    rates: defaultdict[tuple[str, str], _Rate] = defaultdict(_Rate)
    for number, folder in enumerate(folders.runs(saves)):
        if number >= _RUNS:
            break
        try:
            _add(rates, records(folder / EPISODES, EpisodeRow), records(folder / TIMINGS, TimingRow))
        except JitrlError:
            continue
    return dict(rates)


def _add(
    rates: defaultdict[tuple[str, str], _Rate], episodes: Iterable[EpisodeRow], timings: Iterable[TimingRow]
) -> None:
    took = {(row.cell, row.leg, row.episode): row for row in timings}
    for row in episodes:
        timing = took.get((row.cell, row.leg, row.episode))
        if timing is None or row.phase not in (TRAIN, TEST) or timing.cached:
            continue  # replies from the cache say nothing about time
        rate = rates[row.agent, row.model]
        rate.steps += row.steps
        rate.seconds += timing.wall_s
        rate.prompt_tokens += row.prompt_tokens
        rate.completion_tokens += row.completion_tokens
        rate.calls += sum(row.calls.values())
