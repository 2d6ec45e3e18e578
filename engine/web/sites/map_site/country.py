"""Varland on the map: rivers from the north to the sea, the encyclopedia's cities on them, and what joins these."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from engine.web.sites import encyclopedia_data as facts
from engine.web.sites.map_site.extract import Extract, Point
from engine.web.sites.map_site.town import GAP_M, Town, build

SEED = 3000
WIDTH_M, HEIGHT_M = 168_000.0, 120_000.0
COLUMN_M = WIDTH_M / len(facts.RIVERS)
BIG = 12
"""How many of the largest cities have primary roads between them."""
ON_MOTORWAY = 8
CARRIAGEWAY_M = 15.0


@dataclass(frozen=True, slots=True)
class River:
    """A river: a wave around a line from north to south."""

    name: str
    x: float
    phase: float

    def at(self, y: float) -> Point:
        """Return where it is `y` metres north of the corner."""
        return self.x + 2_500 * math.sin(math.tau * y / 33_000 + self.phase), y

    def heading(self, y: float) -> float:
        """Return its direction towards the north there, as an angle from the east."""
        (x1, y1), (x2, y2) = self.at(y - 200), self.at(y + 200)
        return math.atan2(y2 - y1, x2 - x1)


def make() -> Extract:
    """Return the extract of the whole country; it is the same in each call."""
    rng = random.Random(SEED)
    extract = Extract()
    columns = list(range(len(facts.RIVERS)))
    rng.shuffle(columns)
    rivers = {
        name: River(name, (column + 0.5) * COLUMN_M, rng.uniform(0, math.tau))
        for name, column in zip(facts.RIVERS, columns, strict=True)
    }
    extract.line(_coast(rng), {"natural": "coastline", "place": "island", "name": "Varland"}, closed=True)
    towns = _towns(rng, rivers)
    for river in rivers.values():
        _river(extract, river, [town for town in towns if town.river == river.name])
    _forests(extract, rng, towns)
    for town in towns:
        build(extract, town)
    _roads(extract, towns)
    _greenways(extract, towns, rivers)
    _motorway(extract, towns)
    _railways(extract, towns)
    return extract


def _coast(rng: random.Random) -> Iterator[Point]:
    """Yield the coast: a rectangle around all towns, with capes and bays."""
    west, east, south, north = -9_000.0, WIDTH_M + 9_000, -6_000.0, HEIGHT_M + 9_000
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    waves = [(rng.uniform(600, 1_800), rng.uniform(9_000, 40_000), rng.uniform(0, math.tau)) for _ in range(5)]
    gone = 0.0
    for one, other in itertools.pairwise(corners):
        length = math.dist(one, other)
        across = ((other[1] - one[1]) / length, (one[0] - other[0]) / length)
        for step in range(int(length / 1_500)):
            along = step * 1_500
            off = sum(size * math.sin(math.tau * (gone + along) / wave + phase) for size, wave, phase in waves)
            off += rng.uniform(-250, 250)
            yield (
                one[0] + (other[0] - one[0]) * along / length + across[0] * off,
                one[1] + (other[1] - one[1]) * along / length + across[1] * off,
            )
        gone += length


def _towns(rng: random.Random, rivers: dict[str, River]) -> list[Town]:
    """Place the cities along their rivers, apart from each other."""
    found = []
    for name, river in rivers.items():
        cities = [city for city in facts.cities() if city.river == name]
        rng.shuffle(cities)
        for number, city in enumerate(cities):
            room = (HEIGHT_M - 16_000) / max(len(cities), 1)
            y = 8_000 + room * (number + 0.5) + rng.uniform(-0.25, 0.25) * room
            found.append(Town(city.name, city.population, name, river.at(y), river.heading(y)))
    return sorted(found, key=lambda town: facts.CITIES.index(town.name))


def _river(extract: Extract, river: River, towns: list[Town]) -> None:
    """Draw a river. In towns it is straight, as their streets run along it."""
    places = []
    for step in range(int((HEIGHT_M + 12_000) / 400)):
        place = river.at(HEIGHT_M + 4_000 - step * 400)
        if all(math.dist(place, town.centre) > town.radius + 300 for town in towns):
            places.append(place)
    for town in towns:
        places += [town.place(town.radius, 0), town.place(-town.radius, 0)]
    places.sort(key=lambda place: -place[1])
    extract.line(places, {"waterway": "river", "name": f"River {river.name}", "width": str(int(GAP_M / 3))})


def _forests(extract: Extract, rng: random.Random, towns: list[Town]) -> None:
    names = itertools.count(1)
    for _ in range(120):
        centre = (rng.uniform(0, WIDTH_M), rng.uniform(0, HEIGHT_M))
        size = rng.uniform(900, 2_800)
        if any(math.dist(centre, town.centre) < town.radius + size * 1.4 for town in towns):
            continue
        places = [
            (centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle))
            for angle in (math.tau * part / 14 for part in range(14))
            for reach in (size * rng.uniform(0.7, 1.3),)
        ]
        extract.line(places, {"landuse": "forest", "name": f"Forest Lot {next(names)}"}, closed=True)


def neighbours(towns: list[Town]) -> list[tuple[Town, Town]]:
    """Return the pairs of towns with no third town in the circle between them (the Gabriel graph); no two cross."""
    found = []
    for one, other in itertools.combinations(towns, 2):
        middle = ((one.centre[0] + other.centre[0]) / 2, (one.centre[1] + other.centre[1]) / 2)
        reach = math.dist(one.centre, middle)
        if all(math.dist(third.centre, middle) >= reach for third in towns if third not in (one, other)):
            found.append((one, other))
    return found


def _roads(extract: Extract, towns: list[Town]) -> None:
    rng = random.Random(SEED + 1)
    big = {town.name for town in sorted(towns, key=lambda town: -town.population)[:BIG]}
    for number, (one, other) in enumerate(neighbours(towns), 1):
        kind = "primary" if {one.name, other.name} <= big else "secondary"
        start, end = one.gate(other.centre), other.gate(one.centre)
        bends = _bends(rng, extract.place(start), extract.place(end))
        extract.way(
            [start, *map(extract.node, bends), end],
            {"highway": kind, "name": f"{one.name}-{other.name} Road", "ref": f"V{number}"},
        )


def _bends(rng: random.Random, start: Point, end: Point) -> Iterator[Point]:
    """Yield points between two ends, with the gentle bends of a country road."""
    length = math.dist(start, end)
    count = max(3, int(length / 900))
    side, waves = rng.choice((-1, 1)) * min(500.0, length / 30), rng.choice((1, 2, 3))
    across = (-(end[1] - start[1]) / length, (end[0] - start[0]) / length)
    for step in range(1, count):
        part = step / count
        off = side * math.sin(math.pi * waves * part)
        yield (
            start[0] + (end[0] - start[0]) * part + across[0] * off,
            start[1] + (end[1] - start[1]) * part + across[1] * off,
        )


def _greenways(extract: Extract, towns: list[Town], rivers: dict[str, River]) -> None:
    """Join the paths on the east banks of neighbouring towns of a river; cars may not use them."""
    for name, river in rivers.items():
        along = sorted((town for town in towns if town.river == name), key=lambda town: town.centre[1])
        for south, north in itertools.pairwise(along):
            ends = extract.place(south.path_ends[1])[1], extract.place(north.path_ends[0])[1]
            count = max(2, int((ends[1] - ends[0]) / 600))
            middle = [
                (x + 70, y)
                for x, y in (river.at(ends[0] + (ends[1] - ends[0]) * step / count) for step in range(1, count))
            ]
            extract.way(
                [south.path_ends[1], *map(extract.node, middle), north.path_ends[0]],
                {"highway": "cycleway", "name": f"{name} Greenway", "foot": "yes", "bicycle": "yes"},
            )


def _motorway(extract: Extract, towns: list[Town]) -> None:
    """Draw the motorway through the middle of the country from west to east, with a junction at each town on it."""
    chain = sorted(towns, key=lambda town: abs(town.centre[1] - HEIGHT_M / 2))[:ON_MOTORWAY]
    chain.sort(key=lambda town: town.centre[0])
    east: list[int] = []
    west: list[int] = []
    for town in chain:
        place = (town.centre[0], town.centre[1] + town.radius + 1_800)
        before, after, back, out = (
            extract.node((place[0] + along, place[1] + across))
            for along, across in (
                (-500, -CARRIAGEWAY_M), (500, -CARRIAGEWAY_M), (500, CARRIAGEWAY_M), (-500, CARRIAGEWAY_M),
            )
        )  # fmt: skip
        east += [before, after]
        west += [out, back]
        junction = extract.node((place[0], place[1] - 250))
        name = f"{town.name} Interchange"
        for ends in ((before, junction), (junction, after), (back, junction), (junction, out)):
            extract.way(ends, {"highway": "motorway_link", "name": name, "oneway": "yes"})
        gate = town.gate(place)
        extract.way([junction, gate], {"highway": "primary", "name": f"{town.name} Approach"})
    for nodes in (east, west[::-1]):
        for one, other in itertools.pairwise(nodes):
            extract.way(
                [one, other], {"highway": "motorway", "name": "Varland Motorway", "ref": "M1", "oneway": "yes"}
            )


def _railways(extract: Extract, towns: list[Town]) -> None:
    """Draw tracks between the stations of neighbouring towns."""
    for one, other in neighbours(towns):
        if one.station and other.station:
            extract.way([one.station, other.station], {"railway": "rail", "name": f"{one.name}-{other.name} Line"})
