"""Tiles of the map: what the page draws in one square, in pixels from its north-west corner."""

from __future__ import annotations

import json
import math
from typing import Any

from engine.web.sites.map_site.search import Index

SIZE = 256
MARGIN = 0.4
"""How far names and wide lines of neighbouring tiles may reach into one, as a part of its size."""
ZOOMS = range(6, 20)


def tile(index: Index, zoom: int, x: int, y: int) -> dict[str, Any]:
    """Return a tile: shapes (kind, name, x and y of each point), and spots (kind, name, house number, x, y)."""
    south, west = _corner(zoom, x - MARGIN, y + 1 + MARGIN)
    north, east = _corner(zoom, x + 1 + MARGIN, y - MARGIN)
    shapes = []
    for kind, name, line in index.tile(south, west, north, east, zoom):
        flat: list[int] = []
        for lat, lon in json.loads(line):
            point = _pixel(zoom, x, y, lat, lon)
            if not flat or abs(point[0] - flat[-2]) + abs(point[1] - flat[-1]) > 1:
                flat += point
        shapes.append([kind, name, flat])
    spots = [
        [kind, name, number, *_pixel(zoom, x, y, lat, lon)]
        for kind, name, number, lat, lon in index.spots(south, west, north, east, zoom)
    ]
    return {"shapes": shapes, "spots": spots}


def _pixel(zoom: int, x: int, y: int, lat: float, lon: float) -> tuple[int, int]:
    whole = SIZE * 2**zoom
    up = math.log(math.tan(math.radians(lat)) + 1 / math.cos(math.radians(lat)))
    return round((lon + 180) / 360 * whole - x * SIZE), round((1 - up / math.pi) / 2 * whole - y * SIZE)


def _corner(zoom: int, x: float, y: float) -> tuple[float, float]:
    """Return latitude and longitude of the north-west corner of a tile."""
    return math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * y / 2**zoom)))), x / 2**zoom * 360 - 180
