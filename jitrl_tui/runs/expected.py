"""What a session or a benchmark is expected to take and to cost, in words, before it begins."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from jitrl_tui.runs.amounts import amount, dollars, duration

if TYPE_CHECKING:
    from engine.bench.estimate import Estimate
    from engine.session.store import SavedSession


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
    from engine.session.suites import played

    config = saved.config
    if not AGENTS.find(config.agent).asks_model or list_price(config.model, 1, 1) == 0:
        return ""
    try:
        left = config.episodes - len(played(saved))
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
