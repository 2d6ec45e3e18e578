"""Amounts as people write them (money, tokens, durations), and what a session or a benchmark is expected to take."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError

if TYPE_CHECKING:
    from engine.bench.estimate import Estimate
    from engine.session.store import SavedSession


def dollars(cost: float | None) -> str:
    """Return US dollars with cents, with four decimals for less than half a cent; "cost unknown" for None."""
    if cost is None:
        return "cost unknown"
    return f"${cost:,.2f}" if cost >= 0.005 or not cost else f"${cost:.4f}"


def amount(count: int) -> str:
    """Return a number of tokens with thousands separated; large ones in thousands (k) or millions (M)."""
    if count < 100_000:
        return f"{count:,}"
    return f"{count / 1000:,.0f}k" if count < 10_000_000 else f"{count / 1e6:,.1f}M"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, for instance "2 h 05 min" or "40 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest:02} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02} min"
    days, hours = divmod(hours, 24)
    return f"{days:,} d {hours:02} h"


def parts_of(expected: Estimate) -> list[str]:
    """Return model calls, tokens, price and duration of an estimate, each in a few words; [] if nothing is known."""
    parts = []
    if expected.calls:
        parts.append(f"about {amount(expected.calls)} model calls with {amount(expected.tokens)} tokens")
        if expected.usd != 0:
            parts.append("price unknown" if expected.usd is None else f"about {dollars(expected.usd)}")
    if expected.seconds is not None:
        parts.append(f"about {duration(expected.seconds)}")
    return parts


def before_paying(saved: SavedSession, saves: Path) -> str:
    """Return what the episodes of a session that are left may take and cost, and that its model is retired.

    It is "" if the model costs nothing.
    """
    from engine.agents import AGENTS
    from engine.bench.estimate import estimate
    from engine.bench.records import TEST, Cell, Leg
    from engine.llm.listed import list_price, retirement
    from engine.session.suites import finished_episodes

    config = saved.config
    if not AGENTS.find(config.agent).asks_model or list_price(config.model, 1, 1) == 0:
        return ""
    try:
        left = config.episodes - len(finished_episodes(saved))
    except JitrlError:  # the session tells of its damaged recording itself
        return ""
    if left < 1:
        return ""
    leg = Leg(config.game, config.game, TEST, dataclasses.replace(config, episodes=left))
    expected = estimate([Cell(saved.name, config.agent, config.model, config.seed, (leg,))], saves, 1)
    episodes, steps = "" if left == 1 else "s", "" if expected.steps == 1 else "s"
    count = f"{left:,} episode{episodes}, up to {expected.steps:,} step{steps}"
    costs = f"{config.model}: {', '.join([count, *parts_of(expected)])}"
    return ". ".join(filter(None, (costs, retirement(config.model))))
