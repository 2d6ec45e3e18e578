"""The keys with which a person changes the numbers of the update while a session runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from engine.records import SessionStarted
from engine.session.levers import levers
from engine.settings import Settings, settings_from
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface

STOPS: dict[str, tuple[str, tuple[float | str, ...]]] = {
    spec.name: (spec.metadata["symbol"], spec.metadata["stops"])
    for spec in dataclasses.fields(Settings)
    if spec.metadata["stops"]
}
"""By setting: its symbol, and the values that a key or a slider stops at."""
RECORDING = "This is a recording: its settings cannot be changed. K shows what others would have done."
ELSEWHERE = "Another process plays this session, so its settings cannot be changed here."
OVER = "The session is over, so its settings cannot be changed. K shows what others would have done."
NOT_YET = "The session has not begun, so there is nothing to change yet."
NO_UPDATE = "This agent adjusts no logits, so there is nothing to change."


class Levers(Service):
    """Changes one setting of a running session at a time: at first β, later the one that was chosen."""

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        super().__init__(run, screen)
        self._at = 0
        self._used = False
        self._asked: dict[str, float] = {}
        self._found: tuple[str, ...] = ()
        self._names_for: SessionStarted | None = None

    def _names(self) -> tuple[str, ...]:
        started = self._run.view.started
        if started is not self._names_for:  # the footer asks at each drawing
            self._names_for = started
            self._found = levers(settings_from(started.settings)) if started and started.agent == "jitrl" else ()
        return self._found

    def symbol(self) -> str:
        """Return the symbol of the setting that the keys change, "" if there is none."""
        names = self._names()
        return STOPS[names[self._at % len(names)]][0] if names else ""

    def shown(self) -> str:
        """Return the setting with its value, for the status line, "" before a key was used."""
        names = self._names()
        if not names or not self._used:
            return ""
        name = names[self._at % len(names)]
        return f"[ {STOPS[name][0]} {self._value(name):g} ]"

    def _value(self, name: str) -> float:
        started = self._run.view.started
        assert started is not None
        return self._asked.get(name, float(started.settings[name]))

    def choose(self) -> None:
        """Choose the next setting."""
        self._tell(self._refused() or self._choose())

    def turn(self, by: int) -> None:
        """Take the next higher or lower value from the next decision on."""
        self._tell(self._refused() or self._turn(by))

    def apply(self, changes: Mapping[str, float]) -> None:
        """Have the session follow these settings from its next decision on."""
        self._tell(self._refused() or self._apply(changes))

    def follows(self, name: str) -> bool:
        """Return whether a session runs here that follows a setting."""
        return not self._refused() and name in self._names()

    def follow(self, name: str, value: float) -> None:
        """Have the session follow a setting from its next decision on if it can, and let the keys change it next."""
        if self.follows(name):
            self._at, self._used = self._names().index(name), True
            self.apply({name: value})

    def _tell(self, sentence: str) -> None:
        if sentence:
            self._screen.notify(sentence, timeout=4)
        self._screen.redraw()

    def _choose(self) -> str:
        if len(self._names()) == 1:
            return "Plans have only β to change here."
        self._at, self._used = self._at + self._used, True
        return ""

    def _turn(self, by: int) -> str:
        names, view = self._names(), self._run.view
        self._used = True
        name = names[self._at % len(names)]
        symbol, stops = STOPS[name]
        now = self._value(name)
        following = [stop for stop in map(float, stops) if (stop > now if by > 0 else stop < now)]
        if not following:
            return f"{symbol} is {now:g}; there is no {'higher' if by > 0 else 'lower'} value."
        value = min(following) if by > 0 else max(following)
        settings = settings_from(view.started.settings) if view.started is not None else None
        whole = isinstance(getattr(settings, name), int)
        self._apply({name: int(value) if whole else value})
        return "" if view.activity == "paused" else f"From the next decision on: {symbol} {value:g}, was {now:g}."

    def _apply(self, changes: Mapping[str, float]) -> str:
        if self._run.source.control is not None:
            self._asked |= changes
            self._run.source.control.change(changes)
        return ""

    def _refused(self) -> str:
        """Return why nothing can be changed, "" if something can."""
        if self._run.source.control is None:
            return ELSEWHERE if self._run.source.live else RECORDING
        if self._run.over:
            return OVER
        if self._run.view.started is None:
            return NOT_YET
        return "" if self._names() else NO_UPDATE
