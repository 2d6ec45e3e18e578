"""Finds places by words, by coordinates, and around a point."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.web.sites.map_site.extract import METRES_PER_DEGREE, distance

PAGE = 10
"""Results on one page."""
MOST = 20_000
"""Places that are compared for one query."""
NEAR = re.compile(
    r"(?:the )?(?:nearest |closest )?(.+?) (?:near|next to|close to|around|to|from) (.+)", re.IGNORECASE
)
COORDINATES = re.compile(r"\s*(-?\d{1,2}(?:\.\d+)?)\s*[,; ]\s*(-?\d{1,3}(?:\.\d+)?)\s*")
COLUMNS = ("id", "type", "ref", "name", "kind", "number", "street", "postcode", "town", "lat", "lon", "tags")
ALL = ", ".join(COLUMNS)
STOP = {"in", "at", "of", "the", "a", "and"}


@dataclass(frozen=True, slots=True)
class MapPlace:
    """One place of the map; the fields are those of the database."""

    id: int
    type: str
    ref: int
    name: str
    kind: str
    number: str
    street: str
    postcode: str
    town: str
    lat: float
    lon: float
    tags: Mapping[str, str]

    @property
    def path(self) -> str:
        """Path of its page."""
        return f"/{self.type}/{self.ref}"

    @property
    def spot(self) -> tuple[float, float]:
        """Its latitude and longitude."""
        return self.lat, self.lon

    @property
    def address(self) -> str:
        """Its address in one line, "" if it has none."""
        if not self.street:
            return ""
        return f"{self.number} {self.street}, {self.postcode} {self.town}".strip()

    @property
    def label(self) -> str:
        """Its whole name, such as "Anchor Pharmacy, 12 High Street, 1003 Arlow, Varland"."""
        parts = (self.name, self.address or self.town * (self.town != self.name), "Varland" * (self.name != "Varland"))
        return ", ".join(part for part in parts if part)


class Index:
    """The database of the map, open for reading in one thread."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)

    def close(self) -> None:
        """Close it."""
        self._database.close()

    def find(self, query: str, start: int = 0, count: int = PAGE) -> tuple[list[MapPlace], bool]:
        """Return the places that have all words of `query`, and whether there are more.

        "cafe near X" and "nearest cafe to X" give the cafes in order of their distance from X. Coordinates give what
        is there.
        """
        if (given := COORDINATES.fullmatch(query)) is not None:
            found = self.around(float(given[1]), float(given[2]))
        else:
            found = self._words(query) or self._near(query)
        return found[start : start + count], len(found) > start + count

    def first(self, query: str) -> MapPlace | None:
        """Return the first place that `find` finds."""
        found, _ = self.find(query, 0, 1)
        return found[0] if found else None

    def get(self, kind: str, ref: int) -> MapPlace | None:
        """Return the place with this id."""
        found = self._rows(f"SELECT {ALL} FROM places WHERE type = ? AND ref = ?", kind, ref)
        return found[0] if found else None

    def around(self, lat: float, lon: float) -> list[MapPlace]:
        """Return what is at a point: the nearest house or place of interest, then street, town and country."""
        found = []
        for wanted, reach in (
            ("street != ''", 150.0), ("type = 'way' AND town != ''", 400.0), ("kind IN ('City', 'Town')", 9_000.0),
        ):  # fmt: skip
            found += self._within(lat, lon, reach, wanted)[:1]
        island = self._rows(f"SELECT {ALL} FROM places WHERE kind = 'Island'")
        return found + island

    def features(self, lat: float, lon: float, reach: float = 120.0) -> list[MapPlace]:
        """Return places of interest around a point, the nearest first."""
        return self._within(lat, lon, reach, "name != '' AND type = 'node'")

    def tile(self, south: float, west: float, north: float, east: float, zoom: int) -> list[tuple[str, str, str]]:
        """Return kind, name and line of the shapes in a box that are drawn at a zoom."""
        return self._database.execute(
            "SELECT kind, name, line FROM shapes WHERE zoom <= ? AND id IN"
            " (SELECT id FROM boxes WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?)",
            (zoom, south, north, west, east),
        ).fetchall()

    def spots(
        self, south: float, west: float, north: float, east: float, zoom: int
    ) -> list[tuple[str, str, str, float, float]]:
        """Return kind, name, house number and point of the places in a box that are drawn at a zoom."""
        rank = 0 if zoom < 14 else 1 if zoom < 16 else 6
        return self._database.execute(
            "SELECT kind, name, number, lat, lon FROM places WHERE type = 'node' AND rank <= ? AND id IN"
            " (SELECT id FROM spots WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?)",
            (rank, south, north, west, east),
        ).fetchall()

    def _words(self, query: str) -> list[MapPlace]:
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP]
        if not words:
            return []
        return self._rows(
            f"SELECT {ALL} FROM places WHERE id IN (SELECT rowid FROM words WHERE words MATCH ? LIMIT {MOST})"
            " ORDER BY name = '' OR instr(?, lower(name)) = 0, rank, name, id",
            " AND ".join(f'"{word}"' for word in words), query.strip().lower(),
        )  # fmt: skip

    def _near(self, query: str) -> list[MapPlace]:
        """Return what the first part of "X near Y" finds, the nearest to Y first."""
        if (parts := NEAR.fullmatch(query.strip())) is None:
            return []
        centre = self.first(parts[2])
        if centre is None:
            return []
        found = [place for place in self._words(parts[1]) if place.id != centre.id]
        return sorted(found, key=lambda place: distance(place.spot, centre.spot))

    def _within(self, lat: float, lon: float, reach: float, wanted: str) -> list[MapPlace]:
        high, wide = reach / METRES_PER_DEGREE, reach / METRES_PER_DEGREE / math.cos(math.radians(lat))
        found = self._rows(
            f"SELECT {ALL} FROM places WHERE {wanted} AND id IN"
            " (SELECT id FROM spots WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?)",
            lat - high, lat + high, lon - wide, lon + wide,
        )  # fmt: skip
        return sorted(found, key=lambda place: distance(place.spot, (lat, lon)))

    def _rows(self, sql: str, *values: object) -> list[MapPlace]:
        found = self._database.execute(sql, values)
        return [MapPlace(**{**dict(zip(COLUMNS, row, strict=True)), "tags": json.loads(row[-1])}) for row in found]
