"""Quickest routes on the map's extract by Dijkstra's algorithm, to check Routino's."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict

from engine.web.sites.map_site.extract import Extract, Point, Way, metres
from engine.web.sites.map_site.routes import HIGHWAYS, MODES, SPEEDS

CLASSES = {
    "motorway_link": "motorway", "living_street": "residential", "pedestrian": "path", "footway": "path",
}  # fmt: skip
CELL_M = 1_000
"""All places are in towns, so the nearest road begins within so many metres."""


class Roads:
    """The roads of one way to travel."""

    def __init__(self, extract: Extract, mode: str) -> None:
        self._mode = mode
        self._speeds = dict(zip(HIGHWAYS, SPEEDS[MODES[mode]], strict=True))
        self._places: dict[int, Point] = {}
        self._next: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
        self._cells: dict[tuple[int, int], list[tuple[int, int, float, bool]]] = defaultdict(list)
        for way in extract.ways:
            if speed := self._speed(way):
                for one, other in itertools.pairwise(way.nodes):
                    self._join(extract, one, other, speed, way.tags.get("oneway") == "yes" and mode != "foot")

    def route(self, start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
        """Return metres and minutes of the quickest route between two latitudes and longitudes."""
        first, last = self._ends(start, leaving=True), self._ends(end, leaving=False)
        goals = {node: (length, minutes) for node, length, minutes in last}
        heap = [(minutes, length, node) for node, length, minutes in first]
        heapq.heapify(heap)
        best, found = set(), (math.inf, math.inf)
        while heap and heap[0][0] < found[0]:
            minutes, length, node = heapq.heappop(heap)
            if node in best:
                continue
            best.add(node)
            if node in goals:
                found = min(found, (minutes + goals[node][1], length + goals[node][0]))
            for other, more, time in self._next[node]:
                if other not in best:
                    heapq.heappush(heap, (minutes + time, length + more, other))
        return found[1], found[0]

    def _speed(self, way: Way) -> int:
        kind = way.tags.get("highway", "")
        allowed = {
            "car": kind not in ("pedestrian", "footway", "path", "cycleway"),
            "bicycle": kind not in ("pedestrian", "footway", "path") or way.tags.get("bicycle") == "yes",
            "foot": True,
        }
        return self._speeds.get(CLASSES.get(kind, kind), 0) if allowed[self._mode] else 0

    def _join(self, extract: Extract, one: int, other: int, speed: int, oneway: bool) -> None:
        for node in (one, other):
            if node not in self._places:
                self._places[node] = extract.place(node)
        length = math.dist(self._places[one], self._places[other])
        minutes = length / 1000 / speed * 60
        self._next[one].append((other, length, minutes))
        if not oneway:
            self._next[other].append((one, length, minutes))
        x, y = self._places[one]
        self._cells[int(x // CELL_M), int(y // CELL_M)].append((one, other, speed, oneway))

    def _ends(self, spot: tuple[float, float], *, leaving: bool) -> list[tuple[int, float, float]]:
        """Return the ends of the road that is nearest to a place, with metres and minutes to or from there."""
        place = metres(*spot)
        x, y = int(place[0] // CELL_M), int(place[1] // CELL_M)
        around = [each for i in (-1, 0, 1) for j in (-1, 0, 1) for each in self._cells[x + i, y + j]]
        _, part, one, other, speed, oneway = min(self._near(place, *each) for each in around)
        length = math.dist(self._places[one], self._places[other])
        ends = [(one, part * length), (other, (1 - part) * length)]
        if oneway:
            ends = ends[1:] if leaving else ends[:1]
        return [(node, far, far / 1000 / speed * 60) for node, far in ends]

    def _near(
        self, place: Point, one: int, other: int, speed: float, oneway: bool
    ) -> tuple[float, float, int, int, float, bool]:
        (x1, y1), (x2, y2) = self._places[one], self._places[other]
        along = ((place[0] - x1) * (x2 - x1) + (place[1] - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
        part = min(1.0, max(0.0, along))
        return math.dist(place, (x1 + part * (x2 - x1), y1 + part * (y2 - y1))), part, one, other, speed, oneway
