"""The settings that a person can change while a session runs. Its next decision is made with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine.records import Decided, Event, SettingsChanged, Stepped
from engine.settings import Settings
from engine.values import ESTIMATORS

if TYPE_CHECKING:
    from engine.agents.base import Agent

LEVERS = ("beta", "k", "lam", "alpha", "r")
"""The settings that a running session follows. All but the first are of neighbours."""


def levers(settings: Settings) -> tuple[str, ...]:
    """Return the names of the settings that a running session follows; those of neighbours only where some are used."""
    return LEVERS if ESTIMATORS.find(settings.estimator).retrieves else LEVERS[:1]


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return settings with those changes that a running session follows.

    Raises:
        UsageError: A value is out of range.
    """
    return dataclasses.replace(settings, **{name: changes[name] for name in levers(settings) if name in changes})


def told(event: SettingsChanged) -> str:
    """Return what a person changed, as a sentence with both values of each setting."""
    pairs = [f"{name} {_plain(old)} → {_plain(event.settings.get(name))}" for name, old in event.before.items()]
    return f"You changed settings here: {', '.join(pairs)}."


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_force(events: Iterable[Event], at: tuple[int, int] | None = None) -> Mapping[str, Any]:
    """Return what a person has changed of the settings, by name, at the end of a session's events or at a step of it.

    Args:
        at: Episode, and number of steps taken in it; None for the end.
    """
    found: Mapping[str, Any] = {}
    reached = False
    for event in events:
        if isinstance(event, SettingsChanged):
            found = event.settings
        elif at is not None and isinstance(event, Decided):
            reached = (event.episode, event.decision.step) == at
        elif reached and isinstance(event, Stepped):
            break
    return found


class Changes:
    """The settings that a person has changed in a session.

    Args:
        settings: Those that the session began with.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, Any] = {}

    def follow(self, agent: Agent, changes: Mapping[str, Any], episode: int, step: int) -> SettingsChanged | None:
        """Have an agent follow further changes; return what is told of them, None if there is nothing to follow.

        Args:
            episode: Number of the running episode, 0 before the first.
            step: Number of steps taken in it.

        Raises:
            UsageError: A value is out of range. Nothing is changed.
        """
        from engine.agents.jitrl import JitrlAgent  # not before it is needed: screens read this file, too

        if not changes or not isinstance(agent, JitrlAgent):
            return None
        settings = changed(self._settings, {**self._made, **changes})
        before = {name: self._made.get(name, getattr(self._settings, name, None)) for name in changes}
        self._made |= changes
        agent.change(settings)
        return SettingsChanged(episode, step, dict(self._made), before)
