"""A town on a river: streets in a grid, bridges, parks, paths on the banks, and houses with addresses."""

from __future__ import annotations

import itertools
import math
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.web.sites import encyclopedia_data as facts
from engine.web.sites.map_site import places
from engine.web.sites.map_site.extract import Extract, Point

GAP_M = 150.0
"""From the street on one bank to the one on the other."""
PATH_M = 45.0
"""From the middle of the river to the paths on its banks."""
AVENUE_M, STREET_M = 100.0, 120.0
"""From one avenue (along the river) to the next, and from one street (across it) to the next."""
LOT_M, SETBACK_M, CORNER_M = 25.0, 15.0, 25.0
EMPTY = 0.2
"""Share of lots without a house."""

FIRST = (
    "Abbey", "Alder", "Anchor", "Apple", "Ash", "Baker", "Barley", "Beacon", "Beech", "Bell", "Birch", "Bishop",
    "Bridge", "Brook", "Candle", "Canon", "Castle", "Cedar", "Chapel", "Cherry", "Clay", "Cooper", "Copper",
    "Cross", "Crown", "Dairy", "Dove", "Elder", "Elm", "Falcon", "Fern", "Fisher", "Forge", "Fox", "Garden", "Gate",
    "Glass", "Granary", "Green", "Hawthorn", "Hazel", "Heron", "Hill", "Holly", "Hop", "Iron", "Ivy",
    "Juniper", "King", "Lantern", "Larch", "Lime", "Linden", "Lock", "Maple", "Market", "Meadow", "Mill", "Mint",
    "Monk", "Moss", "North", "Oak", "Orchard", "Otter", "Park", "Pear", "Pepper", "Pine", "Plough", "Poplar",
    "Prior", "Quarry", "Queen", "Reed", "Rope", "Rose", "Rowan", "Rye", "Sailor", "Salt", "Silver", "Slate",
    "Smith", "South", "Spring", "Star", "Stone", "Swan", "Tanner", "Thistle", "Tower", "Vine", "Walnut", "Water",
    "Weaver", "Well", "Willow", "Wool", "Yew",
)  # fmt: skip
STREET, AVENUE = ("Street", "Lane", "Road", "Row"), ("Avenue", "Way", "Terrace")


@dataclass(slots=True)
class Town:
    """A town, and what other parts of the map need of it once it is built.

    Attributes:
        name: Its name.
        population: As in the encyclopedia.
        river: Name of its river.
        centre: Where the river flows through its middle.
        heading: Direction of the river towards the north, as an angle from the east.
        gates: Nodes where roads to other towns begin.
        path_ends: Nodes at the south and the north end of the path on the east bank.
        station: Node of the station, 0 if there is none.
    """

    name: str
    population: int
    river: str
    centre: Point
    heading: float
    gates: list[tuple[int, Point]] = field(default_factory=list)
    path_ends: tuple[int, int] = (0, 0)
    station: int = 0

    @property
    def number(self) -> int:
        """Its place in the list of cities."""
        return facts.CITIES.index(self.name)

    @property
    def streets(self) -> int:
        """How many streets cross the river or end at it."""
        return round(5 + 9 * math.sqrt(self.population / 400_000))

    @property
    def avenues(self) -> int:
        """How many avenues each bank has."""
        return round(2 + 4 * math.sqrt(self.population / 400_000))

    @property
    def radius(self) -> float:
        """Metres from the centre within which all of it lies."""
        return max(self.streets * STREET_M / 2, GAP_M / 2 + self.avenues * AVENUE_M) + 120

    def place(self, along: float, across: float) -> Point:
        """Return the place so many metres up the river from the centre, and to the east of the river."""
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        return self.centre[0] + along * cos + across * sin, self.centre[1] + along * sin - across * cos

    def gate(self, target: Point) -> int:
        """Return the gate that leads towards `target`."""
        angle = math.atan2(target[1] - self.centre[1], target[0] - self.centre[0])

        def turn(gate: tuple[int, Point]) -> float:
            own = math.atan2(gate[1][1] - self.centre[1], gate[1][0] - self.centre[0])
            return abs(math.remainder(own - angle, math.tau))

        return min(self.gates, key=turn)[0]


@dataclass(frozen=True, slots=True)
class _Line:
    """One street: its nodes in order, where they are in the town's own grid, and whether each gap is a road."""

    name: str
    kind: str
    nodes: Sequence[int]
    spots: Sequence[Point]
    open: Sequence[bool]
    oneway: bool = False


def build(extract: Extract, town: Town) -> None:
    """Add a town to the extract."""
    rng = random.Random(zlib.crc32(town.name.encode()))
    extract.node(town.centre, {
        "place": "city" if town.population > 100_000 else "town", "name": town.name,
        "population": str(town.population),
    })  # fmt: skip
    alongs = [(number - (town.streets - 1) / 2) * STREET_M for number in range(town.streets)]
    banks = [GAP_M / 2 + number * AVENUE_M for number in range(town.avenues)]
    acrosses = [-one for one in reversed(banks)] + banks
    grid = [[extract.node(town.place(along, across)) for along in alongs] for across in acrosses]
    reach, wide = alongs[-1] + 45, acrosses[-1] + 45
    outline = [town.place(*spot) for spot in ((-reach, -wide), (reach, -wide), (reach, wide), (-reach, wide))]
    extract.line(outline, {"landuse": "residential"}, closed=True)
    main, west, east = town.streets // 2, town.avenues - 1, town.avenues
    town.gates = [
        (node, extract.place(node))
        for node in (grid[0][main], grid[-1][main], grid[west][0], grid[west][-1], grid[east][0], grid[east][-1])
    ]
    lines = _lines(rng, grid, alongs, acrosses)
    parks = _parks(extract, rng, town, grid, alongs, acrosses)
    lots: list[places.Lot] = []
    for number, line in enumerate(lines):
        _draw(extract, line)
        address = {
            "addr:street": line.name, "addr:postcode": str(1000 + 100 * town.number + number), "addr:city": town.name,
        }  # fmt: skip
        for spot, house in _houses(rng, line, parks):
            lots.append(places.Lot(town.place(*spot), {"addr:housenumber": str(house), **address}))
    _paths(extract, town, grid, alongs)
    corner = town.place(alongs[-1] + 50, acrosses[-1] - AVENUE_M / 2)
    near = min(lots, key=lambda lot: math.dist(lot.place, corner))
    town.station = places.fill(extract, rng, town.name, town.number, lots, near if town.population > 30_000 else None)


def _lines(
    rng: random.Random, grid: list[list[int]], alongs: Sequence[float], acrosses: Sequence[float]
) -> Iterator[_Line]:
    firsts = rng.sample(FIRST, len(FIRST))
    main, west, east = len(alongs) // 2, len(acrosses) // 2 - 1, len(acrosses) // 2
    for number, row in enumerate(grid):
        kind = "tertiary" if number in (west, east) else "residential"
        spots = [(along, acrosses[number]) for along in alongs]
        name = "Embankment" if number == east else f"{firsts.pop()} {rng.choice(AVENUE)}"
        if number == east + 1:  # The market place: people on foot only.
            yield _Line("Market Place", "pedestrian", row[main : main + 2], spots[main : main + 2], [True])
            yield _Line(name, kind, row[: main + 1], spots[: main + 1], [True] * main)
            name = f"{firsts.pop()} {rng.choice(AVENUE)}"
            row, spots = row[main + 1 :], spots[main + 1 :]
        yield _Line(name, kind, row, spots, [True] * (len(row) - 1))
    for number, along in enumerate(alongs):
        column = [row[number] for row in grid]
        spots = [(along, across) for across in acrosses]
        if number == main or (number - main) % 3 == 0:
            kind = "secondary" if number == main else "tertiary"
            name = "High Street" if number == main else f"{firsts.pop()} {rng.choice(STREET)}"
            yield _Line(name, kind, column, spots, [True] * (len(column) - 1))
            continue
        oneway = 0 < number < len(alongs) - 1 and rng.random() < 0.4
        for half in (slice(None, west + 1), slice(east, None)):
            nodes = column[half]
            there = [oneway or rng.random() > 0.08 for _ in nodes[1:]]
            kind = "living_street" if not oneway and rng.random() < 0.15 else "residential"
            yield _Line(f"{firsts.pop()} {rng.choice(STREET)}", kind, nodes, spots[half], there, oneway)


def _draw(extract: Extract, line: _Line) -> None:
    """Add the ways of a street; the part between the banks is a bridge."""
    tags = {"highway": line.kind, "name": line.name}
    if line.oneway:
        tags["oneway"] = "yes"
    part = [line.nodes[0]]
    for node, there, (one, other) in zip(line.nodes[1:], line.open, itertools.pairwise(line.spots), strict=True):
        if one[1] * other[1] < 0:
            if len(part) > 1:
                extract.way(part, tags)
            extract.way([part[-1], node], {**tags, "bridge": "yes", "layer": "1"})
            part = [node]
        elif there:
            part.append(node)
        else:
            if len(part) > 1:
                extract.way(part, tags)
            part = [node]
    if len(part) > 1:
        extract.way(part, tags)


def _houses(
    rng: random.Random, line: _Line, parks: Sequence[tuple[Point, Point]]
) -> Iterator[tuple[Point, int]]:
    """Yield spot and number of each house: odd ones on one side, even ones on the other."""
    number = 1
    for there, (one, other) in zip(line.open, itertools.pairwise(line.spots), strict=True):
        length = math.dist(one, other)
        if not there or one[1] * other[1] < 0:
            continue
        count = int((length - 2 * CORNER_M) / LOT_M) + 1
        for step in range(count):
            part = (CORNER_M + step * LOT_M) / length
            for side in (-1, 1):
                spot = (
                    one[0] + (other[0] - one[0]) * part + side * SETBACK_M * (one[0] == other[0]),
                    one[1] + (other[1] - one[1]) * part + side * SETBACK_M * (one[0] != other[0]),
                )
                in_park = any(low[0] < spot[0] < high[0] and low[1] < spot[1] < high[1] for low, high in parks)
                if not in_park and abs(spot[1]) > PATH_M + 10 and rng.random() > EMPTY:
                    yield spot, number + (side > 0)
            number += 2


def _parks(
    extract: Extract, rng: random.Random, town: Town, grid: list[list[int]], alongs: Sequence[float],
    acrosses: Sequence[float],
) -> list[tuple[Point, Point]]:  # fmt: skip
    """Make parks of some blocks, with paths from corner to corner; return their corners."""
    blocks = [
        (row, column)
        for row in range(len(acrosses) - 1)
        for column in range(len(alongs) - 1)
        if acrosses[row] * acrosses[row + 1] > 0
    ]
    found = []
    names = rng.sample(places.PARKS, len(places.PARKS))
    for row, column in rng.sample(blocks, 2 + len(blocks) // 16):
        low, high = (alongs[column], acrosses[row]), (alongs[column + 1], acrosses[row + 1])
        found.append((low, high))
        edge = 14.0
        corners = [
            (low[0] + edge, low[1] + edge), (high[0] - edge, low[1] + edge),
            (high[0] - edge, high[1] - edge), (low[0] + edge, high[1] - edge),
        ]  # fmt: skip
        tags = {"leisure": "park", "name": f"{names.pop()} Park", "addr:city": town.name}
        extract.line([town.place(*corner) for corner in corners], tags, closed=True)
        middle = extract.node(town.place((low[0] + high[0]) / 2, (low[1] + high[1]) / 2))
        for ends in (
            (grid[row][column], grid[row + 1][column + 1]), (grid[row + 1][column], grid[row][column + 1]),
        ):  # fmt: skip
            extract.way([ends[0], middle, ends[1]], {"highway": "footway"})
    return found


def _paths(extract: Extract, town: Town, grid: list[list[int]], alongs: Sequence[float]) -> None:
    """Add the paths on both banks, their links to the streets, and a bridge for people on foot."""
    west, east, main = town.avenues - 1, town.avenues, town.streets // 2
    for row, across, bank in ((west, -PATH_M, "West"), (east, PATH_M, "East")):
        path = [extract.node(town.place(along, across)) for along in alongs]
        tags = {"highway": "cycleway", "name": f"{town.river} Path {bank}", "foot": "yes"}
        extract.way(path, tags)
        for number, node in enumerate(path):
            if (number - main) % 3:  # At bridges the path runs below the street.
                extract.way([grid[row][number], node], {"highway": "path", "foot": "yes", "bicycle": "yes"})
        if bank == "East":
            town.path_ends = path[0], path[-1]
    foot = main + 1
    extract.way(
        [grid[west][foot], grid[east][foot]],
        {"highway": "footway", "name": f"{town.name} Footbridge", "bridge": "yes", "layer": "1", "bicycle": "no"},
    )
