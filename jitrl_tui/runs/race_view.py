"""The state of a race as it is shown, updated event by event; in words for lines, and as JSON."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from engine.records import EpisodeEnded, Event, Notice, Stepped
from engine.session.lockstep import Moment
from engine.session.race import RacerEvent, SavedRace
from jitrl_tui.runs.amounts import amount, dollars
from jitrl_tui.runs.view import RunView, gained, points
from jitrl_tui.system.output import one_line

LETTERS = "ABCD"
"""The letters of the racers, in their order."""


@dataclass
class RacerView:
    """One racer.

    Attributes:
        name: Its name in the race.
        letter: The letter that stands for it.
        session: Name of its session.
        view: Its run.
        error: The sentence that its session ended with, "" if there was no error.
        last: Its last action with the points that it gave, "" before the first.
    """

    name: str
    letter: str
    session: str
    view: RunView = field(default_factory=RunView)
    error: str = ""
    last: str = ""

    def fold(self, event: Event) -> None:
        """Take in one event."""
        self.view.fold(event)
        if isinstance(event, Stepped):
            self.last = done(event)
        elif isinstance(event, Notice) and event.level == "error":
            self.error = event.message

    @property
    def state(self) -> str:
        """What it does, in a word."""
        if self.error:
            return "failed"
        ended = self.view.ended
        return "running" if ended is None else "finished" if ended.finished else "stopped"


class RaceView:
    """All racers, and where they did something else for the first time.

    Args:
        race: The race on disk.

    Attributes:
        racers: The racers, in their order.
        diverged: The first step at which they did not all do the same, None as long as there is none.
        apart: What each racer did there, by its number.
    """

    def __init__(self, race: SavedRace) -> None:
        self.name, self.game, self.seed = race.name, race.game, race.racers[0].session.config.seed
        self.racers = [
            RacerView(racer.name, letter, racer.session.name)
            for racer, letter in zip(race.racers, LETTERS, strict=False)
        ]
        self.diverged: Moment | None = None
        self.apart: dict[int, str] = {}
        self._done: dict[Moment, dict[int, str]] = {}

    def copy(self) -> RaceView:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin.racers = [replace(racer, view=racer.view.copy()) for racer in self.racers]
        twin.apart = self.apart.copy()
        twin._done = {at: actions.copy() for at, actions in self._done.items()}
        return twin

    def fold_all(self, told: Iterable[RacerEvent]) -> None:
        """Take in what racers tell."""
        for one in told:
            self.fold(one)

    def fold(self, told: RacerEvent) -> None:
        """Take in what a racer tells."""
        self.racers[told.racer].fold(told.event)
        if isinstance(told.event, Stepped):
            self._compare(told.racer, told.event)

    def _compare(self, racer: int, event: Stepped) -> None:
        at = event.episode, event.step
        if self.diverged is not None and at > self.diverged:
            return
        actions = self._done.setdefault(at, {})
        actions[racer] = event.action
        if len(set(actions.values())) > 1:
            self.diverged, self.apart = at, actions
            self._done = {moment: acts for moment, acts in self._done.items() if moment <= at}
        elif len(actions) == len(self.racers):
            del self._done[at]

    @property
    def parted(self) -> str:
        """Where the racers parted, in a sentence."""
        if self.diverged is None:
            return "All have done the same so far."
        episode, step = self.diverged
        acts = ", ".join(
            f"{self.racers[who].letter} {one_line(action)}" for who, action in sorted(self.apart.items())
        )
        return f"They parted at episode {episode}, step {step + 1}: {acts}."


def done(event: Stepped) -> str:
    """Return an action with the points that it gave."""
    return one_line(event.action) + (f" {gained(event.reward)}" if event.reward else "")


def racer_facts(racer: RacerView) -> list[str]:
    """Return a racer's place, scores and costs, each in a few words."""
    view = racer.view
    total = f"/{view.started.episodes}" if view.started is not None else ""
    limit = f"/{points(view.max_score)}" if view.max_score else ""
    average = f"avg {points(round(view.average, 1))}" if view.average is not None else "avg -"
    best = [f"best {points(view.best)}"] if view.best is not None else []
    cost = [dollars(view.cost_usd)] if view.cost_usd != 0 else []
    return [
        f"episode {view.episode}{total}",
        f"step {view.step}",
        f"score {points(view.seen.score) if view.seen is not None else 0}{limit}",
        average,
        *best,
        *([f"{amount(view.tokens)} tokens"] if view.counted else []),
        *cost,
    ]


class RaceLines:
    """Tells a race in lines.

    Args:
        view: The race.
    """

    def __init__(self, view: RaceView) -> None:
        self._view = view
        self._parted = False

    def lines_of(self, told: RacerEvent) -> Iterator[str]:
        """Take in what a racer tells; yield the lines to print."""
        view, racer, event = self._view, self._view.racers[told.racer], told.event
        view.fold(told)
        name = f"{racer.letter} {one_line(racer.name)}"
        if isinstance(event, Stepped):
            score = points(event.observation.score)
            yield f"{event.episode}.{event.step + 1} {name}: {done(event)}, score {score}"
            going = sum(racer.state == "running" for racer in view.racers)
            if view.diverged is not None and not self._parted and len(view.apart) >= going:
                self._parted = True
                yield view.parted
        elif isinstance(event, EpisodeEnded):
            top = f" of {points(event.max_score)}" if event.max_score else ""
            yield f"{name}: episode {event.episode} ended with score {points(event.score)}{top}"
        elif isinstance(event, Notice) and event.level == "error":
            yield f"{name}: failed: {one_line(event.message)}; the others go on"

    def summary(self) -> Iterator[str]:
        """Yield how it came out, a line for each racer."""
        yield self._view.parted
        for racer in self._view.racers:
            state = f", {racer.state}" if racer.state != "finished" else ""
            facts = ", ".join(racer_facts(racer))
            yield f"{racer.letter} {one_line(racer.name)}: {facts}{state}; session {racer.session}"


def as_json(view: RaceView) -> dict[str, Any]:
    """Return a race as JSON values, described in docs/json.md."""
    first = view.diverged
    return {
        "race": view.name,
        "game": view.game,
        "seed": view.seed,
        "first": None
        if first is None
        else {
            "episode": first[0],
            "step": first[1],
            "actions": {view.racers[who].name: action for who, action in sorted(view.apart.items())},
        },
        "racers": [_racer(racer) for racer in view.racers],
    }


def _racer(racer: RacerView) -> dict[str, Any]:
    view = racer.view
    return {
        "name": racer.name,
        "session": racer.session,
        "agent": view.started.agent if view.started is not None else "",
        "model": view.started.model if view.started is not None else "",
        "scores": list(view.scores),
        "avg": view.average,
        "final": view.scores[-1] if view.scores else None,
        "tokens": view.tokens,
        "cost_usd": view.cost_usd,
        "state": racer.state,
        "error": racer.error,
    }
