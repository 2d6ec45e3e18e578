"""Routes by car, by bicycle and on foot, computed by Routino."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from engine import children, waits
from engine.errors import GameError

PREFIX = "varland"
PROFILES = "profiles.xml"
MODES = {"car": "motorcar", "bicycle": "bicycle", "foot": "foot"}
"""Routino's names of the ways to travel."""
TIMEOUT_S = waits.SITE_ANSWER.seconds
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds

HIGHWAYS = ("motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential", "service", "track",
             "cycleway", "path", "steps", "ferry")  # fmt: skip
SPEEDS = {
    "motorcar": (110, 100, 80, 65, 45, 40, 30, 20, 0, 0, 0, 0, 0),
    "bicycle": (0, 0, 12, 13, 15, 15, 15, 14, 12, 18, 12, 0, 0),
    "foot": (0, 0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0),
}
"""Kilometres per hour on each of HIGHWAYS; 0 where one may not go."""
_TURNS = ((20, "Continue on"), (45, "Bear {} onto"), (120, "Turn {} onto"), (180, "Turn sharp {} onto"))


@dataclass(frozen=True, slots=True)
class RouteInstruction:
    """One instruction of a route.

    Attributes:
        text: Such as "Turn left onto High Street".
        metres: How far to go then.
        lat: Where it begins.
        lon: Where it begins.
    """

    text: str
    metres: float
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class MapRoute:
    """A route: its length, its time, its line on the map and its instructions."""

    metres: float
    minutes: float
    line: tuple[tuple[float, float], ...]
    steps: tuple[RouteInstruction, ...]


def build(extract: Path, folder: Path) -> None:
    """Write Routino's database of an OSM file into `folder`.

    Raises:
        GameError: Routino failed.
    """
    (folder / PROFILES).write_text(_profiles())
    done = children.run(
        "making the map's roads", ["planetsplitter", f"--dir={folder}", f"--prefix={PREFIX}", str(extract)],
        children.environment(), cwd=folder, capture_output=True, timeout=BUILD_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise GameError(f"the map's roads could not be made: {said[-1] if said else 'there was no output'}")


def find(folder: Path, mode: str, start: tuple[float, float], end: tuple[float, float]) -> MapRoute | None:
    """Return the quickest route between two latitudes and longitudes, None if there is none.

    Args:
        folder: Where `build` wrote.
        mode: One of MODES.
        start: Where it begins.
        end: Where it ends.

    Raises:
        GameError: Routino cannot be started or does not answer.
    """
    done = children.run(
        "finding a route",
        [
            "routino-router", f"--dir={folder}", f"--prefix={PREFIX}", f"--profiles={folder / PROFILES}",
            f"--transport={MODES[mode]}", "--quickest", f"--lat1={start[0]}", f"--lon1={start[1]}",
            f"--lat2={end[0]}", f"--lon2={end[1]}", "--output-text-all", "--output-stdout",
        ],
        children.environment(), cwd=folder, capture_output=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    rows = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines() if not line.startswith("#")]
    return read([row for row in rows if len(row) > 10]) if done.returncode == 0 else None


def read(rows: list[list[str]]) -> MapRoute | None:
    """Return the route that the rows of Routino's text output describe, one for each point of it."""
    if len(rows) < 2:
        return None
    line = [(float(row[0]), float(row[1])) for row in rows]
    metres = minutes = 0.0
    steps: list[RouteInstruction] = []
    for number, row in enumerate(rows[1:], 1):
        length, road = float(row[4]) * 1000, row[10].strip() or "road"
        if road[0].islower():  # It has no name.
            road = f"the {road}"
        metres += length
        minutes += float(row[5])
        if steps and steps[-1].text.endswith(f" {road}"):
            last = steps[-1]
            steps[-1] = RouteInstruction(last.text, last.metres + length, last.lat, last.lon)
        else:
            text = _turn(line, number) if steps else f"Go {_compass(line[0], line[1])} on"
            steps.append(RouteInstruction(f"{text} {road}", length, *line[number - 1]))
    return MapRoute(metres, minutes, tuple(line), (*steps, RouteInstruction("You have arrived", 0.0, *line[-1])))


def _turn(line: list[tuple[float, float]], number: int) -> str:
    before, after = _heading(line[number - 2], line[number - 1]), _heading(line[number - 1], line[number])
    change = math.degrees(math.remainder(after - before, math.tau))
    for limit, text in _TURNS:
        if abs(change) <= limit:
            return text.format("right" if change > 0 else "left")
    return "Turn back onto"


def _heading(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the direction from one point to another, clockwise from the north."""
    return math.atan2((other[1] - one[1]) * math.cos(math.radians(one[0])), other[0] - one[0])


def _compass(one: tuple[float, float], other: tuple[float, float]) -> str:
    names = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
    return names[round(math.degrees(_heading(one, other)) / 45) % 8]


def _profiles() -> str:
    parts = []
    for mode, speeds in SPEEDS.items():
        rows = list(zip(HIGHWAYS, speeds, strict=True))
        fast = "".join(f'<speed highway="{name}" kph="{speed}"/>' for name, speed in rows)
        liked = "".join(f'<preference highway="{name}" percent="{100 * (speed > 0)}"/>' for name, speed in rows)
        properties = "".join(
            f'<property type="{name}" percent="50"/>'
            for name in ("paved", "multilane", "bridge", "tunnel", "footroute", "bicycleroute")
        )
        obey = int(mode != "foot")
        limits = "".join(f'<{name} limit="0.0"/>' for name in ("weight", "height", "width", "length"))
        parts.append(
            f'<profile name="{mode}" transport="{mode}"><speeds>{fast}</speeds><preferences>{liked}</preferences>'
            f'<properties>{properties}</properties><restrictions><oneway obey="{obey}"/><turns obey="{obey}"/>{limits}'
            "</restrictions></profile>"
        )
    return f'<?xml version="1.0" encoding="UTF-8"?><routino-profiles>{"".join(parts)}</routino-profiles>\n'
