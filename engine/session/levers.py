"""The settings that a person can change while a session runs. Its next decision is made with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine.records import Event, SessionStarted, SettingsChanged
from engine.settings import Settings, settings_from
from engine.values import ESTIMATORS

if TYPE_CHECKING:
    from engine.agents.base import Agent

LEVERS = tuple(
    spec.name
    for spec in sorted(dataclasses.fields(Settings), key=lambda spec: int(spec.metadata["followed"]))
    if spec.metadata["followed"]
)
"""The settings that a running session follows."""
_OF_NEIGHBOURS = {spec.name for spec in dataclasses.fields(Settings) if spec.metadata["estimator"] == "knn"}
_NAMES = frozenset(one.name for one in dataclasses.fields(Settings)) - {"estimator"}
"""Settings that may change on the way of a session: in a branch also those that are no levers."""


def levers(settings: Settings) -> tuple[str, ...]:
    """Return the names of the settings that a running session follows; those of neighbours only where some are used."""
    retrieves = ESTIMATORS.find(settings.estimator).retrieves
    return tuple(name for name in LEVERS if retrieves or name not in _OF_NEIGHBOURS)


def apply_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return settings with those changes that a running session follows.

    Raises:
        UsageError: A value is out of range.
    """
    return dataclasses.replace(settings, **{name: changes[name] for name in levers(settings) if name in changes})


def change_text(event: SettingsChanged) -> str:
    """Return what a person changed, as a sentence with both values of each setting."""
    pairs = [f"{name} {_plain(old)} → {_plain(event.settings.get(name))}" for name, old in event.before.items()]
    return f"You changed settings here: {', '.join(pairs)}."


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_force(events: Iterable[Event]) -> Mapping[str, Any]:
    """Return what a person has changed of the settings at the end of a session's events, by name."""
    found: Mapping[str, Any] = {}
    for event in events:
        if isinstance(event, SettingsChanged):
            found = event.settings
    return found


def began_with(settings: Settings, started: SessionStarted) -> Settings:
    """Return the settings that a recorded session began with; those that it does not name are as in `settings`."""
    return settings_from({**dataclasses.asdict(settings), **started.settings})


def with_changes(settings: Settings, changed: Mapping[str, Any]) -> Settings:
    """Return settings with what a person changed of them. Names that this version does not know are passed over."""
    return dataclasses.replace(settings, **{name: value for name, value in changed.items() if name in _NAMES})


class Changes:
    """The settings that a person has changed in a session.

    Args:
        settings: Those that the session began with.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, Any] = {}

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return apply_changes(self._settings, self._made)

    def follow(self, agent: Agent, changes: Mapping[str, Any], episode: int, step: int) -> SettingsChanged | None:
        """Have an agent follow further changes; return what is told of them, None if there is nothing to follow.

        Args:
            changes: Values by name. Those that a running session does not follow are passed over.
            episode: Number of the running episode, 0 before the first.
            step: Number of steps taken in it.

        Raises:
            UsageError: A value is out of range. Nothing is changed.
        """
        from engine.agents.jitrl import JitrlAgent  # not before it is needed: screens read this file, too

        if not changes or not isinstance(agent, JitrlAgent):
            return None
        changes = {name: changes[name] for name in levers(self._settings) if name in changes}
        if not changes:
            return None
        settings = apply_changes(self._settings, {**self._made, **changes})
        before = {name: self._made.get(name, getattr(self._settings, name, None)) for name in changes}
        self._made |= changes
        agent.change(settings)
        return SettingsChanged(episode, step, dict(self._made), before)
