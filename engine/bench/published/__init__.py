"""The numbers that the JitRL paper and others report, one TOML file per table.

They were measured with other models, in other environments or with other budgets than a run here, so reports show them
in tables of their own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from engine.errors import BadFile, UsageError

Number = float | tuple[float, ...] | None
"""A published number; two numbers are a range, None is a place that the paper left empty."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of a published table.

    Attributes:
        name: The method, or the setting that is varied.
        model: The model, "" if it is that of the table.
        values: One number per column. Whole numbers are `int`, as the paper printed them.
    """

    name: str
    model: str
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A table of the paper.

    Attributes:
        id: Its label in the paper without "tab:".
        title: What it shows.
        model: The model that it was measured with; "" if the rows say it.
        about: Units, and what a reader must know to compare.
        digits: Digits behind the point, except of whole numbers.
        columns: Name of the game or site of each column.
        measures: Name of the measure of each column, see `engine.bench.measures`; "" for a number that is none.
        rows: The rows in the order of the paper.
        source: Where its numbers are from, "" for the JitRL paper.
        games: Whether each row is a game, and only those of games that were played are shown.
    """

    id: str
    title: str
    model: str
    about: str
    digits: int
    columns: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    source: str = ""
    games: bool = False

    def rows_for(self, played: Iterable[str]) -> tuple[PublishedRow, ...]:
        """Return the rows that are shown beside a run on these games."""
        if not self.games:
            return self.rows
        played = set(played)
        return tuple(row for row in self.rows if row.name in played)


def names() -> tuple[str, ...]:
    """Return the ids of all tables."""
    files = (file.name for file in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def read_published(id: str) -> Published:
    """Return the table with this id.

    Raises:
        UsageError: There is none.
    """
    if id not in names():
        raise UsageError(f"there is no published table {id!r}; choose among: {', '.join(names())}")
    return parse_published(resources.files(__package__).joinpath(f"{id}.toml").read_text(encoding="utf-8"))


def parse_published(text: str) -> Published:
    """Return the table that a TOML file describes.

    Raises:
        BadFile: It is not such a file.
    """
    try:
        data = tomllib.loads(text)
        rows = tuple(
            PublishedRow(str(row["name"]), str(row.get("model", "")), tuple(_number(value) for value in row["values"]))
            for row in data["rows"]
        )
        table = Published(
            str(data["id"]), str(data["title"]), str(data["model"]), str(data["about"]), int(data["digits"]),
            tuple(data["columns"]), tuple(data["measures"]), rows, str(data.get("source", "")),
            bool(data.get("games", False)),
        )  # fmt: skip
    except (tomllib.TOMLDecodeError, LookupError, TypeError, ValueError) as error:
        raise BadFile(f"a published table cannot be read: {error}") from None
    if any(len(row.values) != len(table.columns) for row in rows) or len(table.measures) != len(table.columns):
        raise BadFile(f"the published table {table.id!r} has rows of different lengths")
    return table


def _number(value: Any) -> Number:
    if value == "":
        return None
    if isinstance(value, list):
        return tuple(float(end) for end in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    return value
