"""An extract in the form of OpenStreetMap: nodes and ways with tags, on a flat country measured in metres."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

LAT, LON = 47.0, -31.0
"""Where the south-west corner of the country lies: in the open Atlantic."""
METRES_PER_DEGREE = 111_195.0
"""On a sphere with the Earth's mean radius, which Routino uses, too."""

Point = tuple[float, float]
"""Metres east and north of the corner."""


@dataclass(frozen=True, slots=True)
class OsmNode:
    """A point of the map.

    Attributes:
        id: From 1 on.
        lat: Degrees, with seven digits as in OpenStreetMap.
        lon: Degrees.
        tags: Empty for points that only give a way its shape.
    """

    id: int
    lat: float
    lon: float
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Way:
    """A line or an area, which ends where it begins."""

    id: int
    nodes: tuple[int, ...]
    tags: Mapping[str, str]


@dataclass(slots=True)
class Extract:
    """All nodes and ways, in order of their ids."""

    nodes: list[OsmNode] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)

    def node(self, place: Point, tags: Mapping[str, str] | None = None) -> int:
        """Add a node and return its id."""
        lat, lon = degrees(place)
        self.nodes.append(OsmNode(len(self.nodes) + 1, lat, lon, dict(tags or {})))
        return len(self.nodes)

    def way(self, nodes: Sequence[int], tags: Mapping[str, str]) -> int:
        """Add a way and return its id."""
        self.ways.append(Way(len(self.ways) + 1, tuple(nodes), dict(tags)))
        return len(self.ways)

    def line(self, places: Iterable[Point], tags: Mapping[str, str], *, closed: bool = False) -> int:
        """Add a way with nodes of its own and return its id."""
        nodes = [self.node(place) for place in places]
        return self.way([*nodes, nodes[0]] if closed else nodes, tags)

    def place(self, node: int) -> Point:
        """Return where a node is."""
        found = self.nodes[node - 1]
        return metres(found.lat, found.lon)

    def shape(self, way: Way) -> list[tuple[float, float]]:
        """Return latitudes and longitudes along a way."""
        return [(self.nodes[node - 1].lat, self.nodes[node - 1].lon) for node in way.nodes]

    def write(self, file: Path) -> None:
        """Write it as OSM XML."""
        with file.open("w", encoding="utf-8") as output:
            output.writelines(self._lines())

    def _lines(self) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<osm version="0.6" generator="jitrl">\n'
        for node in self.nodes:
            head = f'<node id="{node.id}" version="1" lat="{node.lat:.7f}" lon="{node.lon:.7f}"'
            yield f"{head}>{_tags(node.tags)}</node>\n" if node.tags else f"{head}/>\n"
        for way in self.ways:
            nodes = "".join(f'<nd ref="{node}"/>' for node in way.nodes)
            yield f'<way id="{way.id}" version="1">{nodes}{_tags(way.tags)}</way>\n'
        yield "</osm>\n"


def _tags(tags: Mapping[str, str]) -> str:
    return "".join(f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items())


def degrees(place: Point) -> tuple[float, float]:
    """Return latitude and longitude of a place."""
    lat = LAT + place[1] / METRES_PER_DEGREE
    return round(lat, 7), round(LON + place[0] / (METRES_PER_DEGREE * math.cos(math.radians(lat))), 7)


def metres(lat: float, lon: float) -> Point:
    """Return the place at a latitude and longitude."""
    return (lon - LON) * METRES_PER_DEGREE * math.cos(math.radians(lat)), (lat - LAT) * METRES_PER_DEGREE


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the metres between two latitudes and longitudes along a great circle."""
    lat1, lon1, lat2, lon2 = map(math.radians, (*one, *other))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * METRES_PER_DEGREE * math.degrees(math.asin(math.sqrt(half)))
