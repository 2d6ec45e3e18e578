"""A map built from episodes: places, ways between them, the score at which each place was first reached, and returns.

Places are identified by name alone, so rooms with the same name (as in a maze) are one place. Build a map from steps,
merge maps of several episodes, store it with `to_plain`, and draw it with `draw`, or with a `Chart` where places need
styles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import BadFile
from engine.records import Episode

DIRECTIONS: dict[str, tuple[int, int]] = {
    "north": (0, -1),
    "south": (0, 1),
    "east": (1, 0),
    "west": (-1, 0),
    "northeast": (1, -1),
    "northwest": (-1, -1),
    "southeast": (1, 1),
    "southwest": (-1, 1),
}
"""By direction: columns and rows to go in a drawing."""
_SHORT = {"n": "north", "s": "south", "e": "east", "w": "west",
          "ne": "northeast", "nw": "northwest", "se": "southeast", "sw": "southwest"}  # fmt: skip
_LINES = {(1, 0): "-", (0, 1): "|", (1, 1): "\\", (-1, 1): "/"}


@dataclass(slots=True)
class Place:
    """What is known about a place.

    Attributes:
        name: Its name.
        first_score: Score with which it was first reached.
        visits: How often it was reached.
        gained: Highest reward of one action there, in points.
        total: Sum of the points that followed the remembered steps taken there, to the ends of their episodes.
        count: Number of these steps.
    """

    name: str
    first_score: float
    visits: int = 0
    gained: float = 0.0
    total: float = 0.0
    count: int = 0

    @property
    def value(self) -> float | None:
        """Mean of the points that followed the remembered steps there, those of the step included; None without any."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a place stands in a chart: in `line`, from the column `start` up to `end`."""

    place: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of a map.

    Attributes:
        lines: The drawing, with north at the top.
        marks: Where its places stand, one for each line of a place.
        rest: Ways that are not drawn: (place, action, place it leads to).
    """

    lines: tuple[str, ...]
    marks: tuple[Mark, ...]
    rest: tuple[tuple[str, str, str], ...]


@dataclass(slots=True)
class GameMap:
    """Places and the ways between them, built step by step.

    Attributes:
        places: The places by name.
        ways: By place and action: the place that the action last led to.
    """

    places: dict[str, Place] = field(default_factory=dict)
    ways: dict[str, dict[str, str]] = field(default_factory=dict)

    # ----------------------------------------------------------------------------------------- building

    def arrive(self, place: str, score: float) -> None:
        """Record that `place` was reached, or that an episode began there; "" is ignored."""
        if place:
            self.places.setdefault(place, Place(place, score)).visits += 1

    def step(self, place: str, action: str, then: str, before: float, score: float) -> None:
        """Record that `action` at `place` led to the place `then`.

        Args:
            place: Place before the action, "" if unknown.
            action: The command.
            then: Place after it, "" if unknown.
            before: Score before the action.
            score: Score after it.
        """
        here = self.places.get(place)
        if here is not None and score > before:
            here.gained = max(here.gained, score - before)
        if then and then != place:
            self.arrive(then, score)
            if place:
                self.ways.setdefault(place, {})[action] = then

    def judge(self, place: str, points: float) -> None:
        """Record what followed a remembered step at `place`, in points; a place that is not known is ignored."""
        here = self.places.get(place)
        if here is not None:
            here.total, here.count = here.total + points, here.count + 1

    def add(self, episode: Episode, *, judged: bool = False) -> None:
        """Record all steps of an episode; `judged` says whether to record the points that followed them, too."""
        if not episode.steps:
            return
        self.arrive(episode.steps[0].state.place, 0.0)
        following = [step.state.place for step in episode.steps[1:]] + [episode.final.place]
        for step, then in zip(episode.steps, following, strict=True):
            self.step(step.state.place, step.action, then, step.score - step.env_reward, step.score)
        if judged:
            for step in episode.steps:
                self.judge(step.state.place, episode.score - (step.score - step.env_reward))

    def copy(self) -> GameMap:
        """Return an independent copy."""
        return GameMap(
            {name: replace(place) for name, place in self.places.items()},
            {place: dict(ways) for place, ways in self.ways.items()},
        )

    def merge(self, other: GameMap) -> None:
        """Add the contents of another map. A place keeps the lower first score."""
        for name, place in other.places.items():
            mine = self.places.setdefault(name, Place(name, place.first_score))
            mine.first_score = min(mine.first_score, place.first_score)
            mine.visits += place.visits
            mine.gained = max(mine.gained, place.gained)
            mine.total, mine.count = mine.total + place.total, mine.count + place.count
        for name, ways in other.ways.items():
            self.ways.setdefault(name, {}).update(ways)

    # ------------------------------------------------------------------------------------------- reading

    def route(self, start: str, end: str) -> list[str] | None:
        """Return the shortest sequence of known actions from `start` to `end`, None if there is none."""
        came: dict[str, tuple[str, str] | None] = {start: None}
        queue = deque([start])
        while queue and end not in came:
            place = queue.popleft()
            for action, then in self.ways.get(place, {}).items():
                if then not in came:
                    came[then] = (place, action)
                    queue.append(then)
        if end not in came:
            return None
        actions = []
        last = came[end]
        while last is not None:
            actions.append(last[1])
            last = came[last[0]]
        return actions[::-1]

    def to_plain(self) -> dict[str, Any]:
        """Return the map as JSON values."""
        return {
            "places": [
                {
                    "name": place.name,
                    "first_score": place.first_score,
                    "visits": place.visits,
                    "gained": place.gained,
                }
                for place in self.places.values()
            ],
            "ways": [
                {"from": place, "action": action, "to": then}
                for place, ways in self.ways.items()
                for action, then in ways.items()
            ],
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> GameMap:
        """Build a map from what `to_plain` returned.

        Raises:
            BadFile: The data is damaged.
        """
        found = cls()
        try:
            for item in data["places"]:
                place = Place(
                    str(item["name"]), float(item["first_score"]), int(item["visits"]), float(item["gained"])
                )
                found.places[place.name] = place
            for item in data["ways"]:
                found.ways.setdefault(str(item["from"]), {})[str(item["action"])] = str(item["to"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(f"this map is damaged ({error!r}); play on and a new one is made") from None
        return found

    # ------------------------------------------------------------------------------------------- drawing

    def draw(self, here: str = "", width: int = 80) -> str:
        """Return a drawing of at most `width` columns, with north at the top and `here` in brackets.

        Ways that cannot be drawn (up, in, or between places that are not adjacent) are listed below.
        """
        if not self.places:
            return "No place is known yet."

        def label(place: Place) -> tuple[str, ...]:
            return (f"[{place.name}]" if place.name == here else place.name,)

        chart = self.chart(here, width, label)
        rest = [f"{place}: {action} to {then}"[:width] for place, action, then in chart.rest]
        return "\n".join([*chart.lines, *(["", *rest] if rest else [])])

    def chart(self, here: str, width: int, label: Callable[[Place], Sequence[str]]) -> Chart:
        """Return a drawing of at most `width` columns around the place `here`.

        Args:
            label: Returns the lines for a place, the same number for each.
        """
        if not self.places:
            return Chart((), (), ())
        labels = {name: tuple(label(place)) for name, place in self.places.items()}
        spots = self._spots(here if here in self.places else next(iter(self.places)))
        widest = max(len(line) for lines in labels.values() for line in lines)
        shown, cell = _window(spots, spots.get(here, (0, 0)), width, widest)
        ways = self._lines(shown)
        lines, marks = _paint(shown, cell, ways, labels, width)
        drawn = {frozenset((a, b)) for a, b, _ in ways}
        rest = tuple(
            (place, action, then)
            for place, ways in self.ways.items()
            for action, then in ways.items()
            if frozenset((place, then)) not in drawn
        )
        return Chart(tuple(lines), tuple(marks), rest)

    def _spots(self, start: str) -> dict[str, tuple[int, int]]:
        """Return a column and a row for each place, following directions outwards from `start`."""
        spots: dict[str, tuple[int, int]] = {}
        taken: set[tuple[int, int]] = set()
        for root in [start, *self.places]:
            if root in spots:
                continue
            bottom = max((row for _, row in taken), default=-1) + 1
            spots[root] = (0, bottom)
            taken.add(spots[root])
            queue = deque([root])
            while queue:
                place = queue.popleft()
                for other, (right, down) in self._beside(place):
                    if other in spots:
                        continue
                    column, row = spots[place][0] + right, spots[place][1] + down
                    while (column, row) in taken:
                        column, row = column + right, row + down
                    spots[other] = (column, row)
                    taken.add((column, row))
                    queue.append(other)
        return spots

    def _beside(self, place: str) -> list[tuple[str, tuple[int, int]]]:
        """Return the places in a known direction from `place`, using ways both from it and to it."""
        out = [(then, direction(action)) for action, then in self.ways.get(place, {}).items()]
        back = [
            (other, _opposite(direction(action)))
            for other, ways in self.ways.items()
            for action, then in ways.items()
            if then == place
        ]
        return [(other, step) for other, step in out + back if step is not None and other in self.places]

    def _lines(self, spots: Mapping[str, tuple[int, int]]) -> list[tuple[str, str, tuple[int, int]]]:
        """Return each way between adjacent places once, with the left or upper place first."""
        found: dict[frozenset[str], tuple[str, str, tuple[int, int]]] = {}
        for place, ways in self.ways.items():
            for action, then in ways.items():
                step = direction(action)
                if step is None or place not in spots or then not in spots:
                    continue
                gap = (spots[then][0] - spots[place][0], spots[then][1] - spots[place][1])
                if gap != step:
                    continue
                if step in _LINES:
                    found[frozenset((place, then))] = (place, then, step)
                else:
                    found[frozenset((place, then))] = (then, place, (-step[0], -step[1]))
        return list(found.values())


def direction(action: str) -> tuple[int, int] | None:
    """Return (columns, rows) of a command such as "go north" or "ne", None for other commands."""
    words = action.lower().split()
    if not words or len(words) > 2 or (len(words) == 2 and words[0] not in ("go", "walk", "run")):
        return None
    return DIRECTIONS.get(_SHORT.get(words[-1], words[-1]))


def map_of(episodes: Iterable[Episode]) -> GameMap:
    """Return the map of all places in episodes of one game."""
    found = GameMap()
    for episode in episodes:
        found.add(episode)
    return found


def _opposite(step: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if step is None else (-step[0], -step[1])


_GAP, _NARROW, _WIDE = 3, 6, 18


def _window(
    spots: Mapping[str, tuple[int, int]], centre: tuple[int, int], width: int, widest: int
) -> tuple[dict[str, tuple[int, int]], int]:
    """Return the places that fit the width, with columns and rows counted from 0, and the width of a cell."""
    columns = max(1, min(_columns(spots), (width + _GAP) // (_NARROW + _GAP)))
    cell = max(1, min(_WIDE, widest + 2, (width + _GAP) // columns - _GAP))
    left = min(column for column, _ in spots.values())
    if _columns(spots) > columns:
        right = max(column for column, _ in spots.values()) - columns + 1
        left = min(max(left, centre[0] - columns // 2), right)
    top = min(row for _, row in spots.values())
    shown = {
        place: (column - left, row - top)
        for place, (column, row) in spots.items()
        if 0 <= column - left < columns
    }
    return shown, cell


def _columns(spots: Mapping[str, tuple[int, int]]) -> int:
    across = [column for column, _ in spots.values()]
    return max(across) - min(across) + 1


def _paint(
    spots: Mapping[str, tuple[int, int]],
    cell: int,
    ways: Iterable[tuple[str, str, tuple[int, int]]],
    labels: Mapping[str, Sequence[str]],
    width: int,
) -> tuple[list[str], list[Mark]]:
    """Return the lines of the drawing and where the places stand in them.

    There are rows of places, each as high as its label, with a row of connecting lines between them.
    """
    high = len(next(iter(labels.values())))
    rows = max(row for _, row in spots.values()) + 1
    canvas = [[" "] * (width + _GAP) for _ in range((high + 1) * rows - 1)]
    marks: list[Mark] = []
    for place, (column, row) in spots.items():
        start, top = column * (cell + _GAP), (high + 1) * row
        for line, text in enumerate(labels[place], top):
            shown = _shortened(text, cell).center(cell)
            canvas[line][start : start + cell] = list(shown)
            before = len(shown) - len(shown.lstrip())
            marks.append(Mark(place, line, start + before, start + before + len(shown.strip())))
    for first, _, step in ways:
        column, row = spots[first]
        start, top = column * (cell + _GAP), (high + 1) * row
        if step == (1, 0):
            canvas[top][start + cell : start + cell + _GAP] = ["-"] * _GAP
        elif step == (0, 1):
            canvas[top + high][start + cell // 2] = "|"
        else:
            at = start + cell + 1 if step == (1, 1) else start - 2
            canvas[top + high][at] = "X" if canvas[top + high][at] != " " else _LINES[step]
    return ["".join(line)[:width].rstrip() for line in canvas], marks


def _shortened(text: str, cell: int) -> str:
    """Return a text that fits a cell; a bracket at its end stays."""
    if len(text) <= cell:
        return text
    end = "]" if text.endswith("]") else ""
    return text[: max(1, cell - 1 - len(end))] + "~" + end
