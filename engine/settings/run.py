"""Length of an episode, time for its decisions, and when a run counts as failed."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class RunSettings(SettingsGroup):
    """Length of an episode, time for its decisions, and when a run counts as failed."""

    step_limit: int = setting(60, "largest number of steps of an episode", 1, 100_000)
    valid_commands: int = setting(
        1000,
        "commands tried at most for the valid actions of a decision in a game; 0 for no limit",
        0,
        1_000_000,
    )
    max_missing: float = setting(
        0.1,
        "share of decisions without a usable answer of the model above which a run counts as failed",
        0.0,
        1.0,
    )
    max_failed: float = setting(
        0.1,
        "share of actions at which the environment failed above which a run counts as failed",
        0.0,
        1.0,
    )
