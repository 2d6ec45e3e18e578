"""The database of the map: what can be found by its name, and the shapes to draw, both made from the extract."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.web.sites.map_site.extract import Extract, OsmNode, Way, distance

FILE = "map.sqlite"
TOWN_REACH_M = 1_300.0
"""A street belongs to a town whose centre is as near as this."""
KINDS = {
    "doctors": "Doctors", "fuel": "Fuel station", "place_of_worship": "Place of worship", "townhall": "Town hall",
    "books": "Bookshop", "clothes": "Clothes shop", "bicycle": "Bicycle shop", "hardware": "Hardware shop",
    "information": "Tourist information", "station": "Railway station", "hairdresser": "Hairdresser",
    "parking": "Car park", "sports_centre": "Sports centre", "house": "House",
}  # fmt: skip
"""Kinds of places by the values of their tags, where these are no words for them."""
SYNONYMS = {
    "Fuel station": "petrol gas filling", "Railway station": "train", "Bookshop": "books", "Fast food": "takeaway",
    "Bicycle shop": "bike", "Pharmacy": "chemist drugstore", "Car park": "parking", "Place of worship": "church",
    "Guest house": "pension", "Supermarket": "grocery",
}  # fmt: skip
KEYS = (
    "amenity", "tourism", "shop", "leisure", "railway", "building", "place", "waterway", "landuse", "natural",
    "highway",
)  # fmt: skip
CLASSES = ("Primary", "Secondary", "Tertiary", "Residential")
ROADS = {
    # highway: zoom from which it is drawn, rank in a list of results
    "motorway": (6, 3), "motorway_link": (11, 3), "primary": (8, 3), "secondary": (9, 3), "tertiary": (12, 4),
    "residential": (13, 4), "living_street": (13, 4), "pedestrian": (13, 4), "cycleway": (12, 4), "footway": (14, 5),
    "path": (14, 5),
}  # fmt: skip
AREAS = {"forest": 7, "residential": 9, "park": 13}
SCHEMA = """
CREATE TABLE places (id INTEGER PRIMARY KEY, type TEXT, ref INTEGER, name TEXT, kind TEXT, number TEXT, street TEXT,
    postcode TEXT, town TEXT, lat REAL, lon REAL, rank INTEGER, tags TEXT);
CREATE INDEX places_ref ON places (type, ref);
CREATE VIRTUAL TABLE words USING fts5 (
    name, kind, address, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE spots USING rtree (id, south, north, west, east);
CREATE TABLE shapes (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, zoom INTEGER, line TEXT);
CREATE VIRTUAL TABLE boxes USING rtree (id, south, north, west, east);
"""


def build(extract: Extract, file: Path) -> None:
    """Write the database of an extract."""
    towns = [node for node in extract.nodes if "place" in node.tags]
    with sqlite3.connect(file) as database:
        database.executescript(SCHEMA)
        for node in extract.nodes:
            if node.tags:
                _add_place(database, "node", node.id, node.tags, (node.lat, node.lon), "")
        _add_ways(database, extract, towns)
        for way in extract.ways:
            _add_shape(database, extract, way)
    database.execute("VACUUM")
    database.close()


def kind_of(tags: Mapping[str, str]) -> str:
    """Return the word for what tags describe, such as "Cafe"."""
    for key in KEYS:
        if key in tags:
            word = KINDS.get(tags[key], tags[key].replace("_", " ").capitalize())
            return f"{word} road" if key == "highway" and word in CLASSES else word
    return "Place"


def _rank(tags: Mapping[str, str]) -> int:
    if tags.get("place") in ("city", "town", "island"):
        return 0
    if tags.get("railway") == "station":
        return 1
    if "highway" in tags:
        return ROADS[tags["highway"]][1]
    return 6 if "building" in tags else 2


def _add_place(
    database: sqlite3.Connection, kind: str, ref: int, tags: Mapping[str, str], at: tuple[float, float], town: str
) -> None:
    town = tags.get("addr:city", town)
    number, street, postcode = (tags.get(f"addr:{key}", "") for key in ("housenumber", "street", "postcode"))
    name, word = tags.get("name", ""), kind_of(tags)
    cursor = database.execute(
        "INSERT INTO places (type, ref, name, kind, number, street, postcode, town, lat, lon, rank, tags)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (kind, ref, name, word, number, street, postcode, town, *at, _rank(tags), json.dumps(dict(tags))),
    )
    row = cursor.lastrowid
    words = f"{word} {SYNONYMS.get(word, '')} {tags.get('cuisine', '')}"
    database.execute(
        "INSERT INTO words (rowid, name, kind, address) VALUES (?, ?, ?, ?)",
        (row, name, words, f"{number} {street} {town} {postcode} Varland"),
    )
    database.execute("INSERT INTO spots VALUES (?, ?, ?, ?, ?)", (row, at[0], at[0], at[1], at[1]))


def _add_ways(database: sqlite3.Connection, extract: Extract, towns: list[OsmNode]) -> None:
    """Add each street, river and park once, however many ways it has."""
    longest: dict[tuple[str, str], tuple[float, Way, tuple[float, float]]] = {}
    for way in extract.ways:
        if "name" not in way.tags or "railway" in way.tags:
            continue
        shape = extract.shape(way)
        at = _middle(shape)
        town = min(towns, key=lambda town: distance((town.lat, town.lon), at))
        near = distance((town.lat, town.lon), at) < TOWN_REACH_M and "waterway" not in way.tags
        key = (way.tags["name"], town.tags["name"] if near else "")
        length = math.dist(shape[0], shape[-1])
        if key not in longest or length > longest[key][0]:
            longest[key] = (length, way, at)
    for (_, town_name), (_, way, at) in longest.items():
        _add_place(database, "way", way.id, way.tags, at, town_name)


def _middle(shape: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the point of a line that is half way between its ends; the centre of an area."""
    if shape[0] == shape[-1]:
        inner = shape[1:]
        return round(sum(lat for lat, _ in inner) / len(inner), 7), round(sum(lon for _, lon in inner) / len(inner), 7)
    if len(shape) == 2:
        return round((shape[0][0] + shape[1][0]) / 2, 7), round((shape[0][1] + shape[1][1]) / 2, 7)
    return shape[len(shape) // 2]


def _add_shape(database: sqlite3.Connection, extract: Extract, way: Way) -> None:
    for kind, zoom in _drawn(way.tags):
        shape = extract.shape(way)
        lats, lons = [lat for lat, _ in shape], [lon for _, lon in shape]
        name = way.tags.get("ref") or way.tags.get("name", "") if kind != "forest" else ""
        cursor = database.execute(
            "INSERT INTO shapes (kind, name, zoom, line) VALUES (?, ?, ?, ?)", (kind, name, zoom, json.dumps(shape))
        )
        database.execute(
            "INSERT INTO boxes VALUES (?, ?, ?, ?, ?)", (cursor.lastrowid, min(lats), max(lats), min(lons), max(lons))
        )


def _drawn(tags: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield as what a way is drawn, and from which zoom on."""
    if "highway" in tags:
        yield tags["highway"], ROADS[tags["highway"]][0]
    elif "waterway" in tags:
        yield "river", 6
    elif "railway" in tags:
        yield "rail", 9
    elif tags.get("natural") == "coastline":
        yield "land", 0
    else:
        area = tags.get("landuse") or tags.get("leisure") or ""
        yield area, AREAS[area]
