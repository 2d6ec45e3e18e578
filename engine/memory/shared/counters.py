"""The counters of a scope of the log, and what may be in them: whoever may write to the database may write anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine import limits
from engine.errors import BadFile
from engine.memory.shared.rows import Logged, LogRow, is_table

COLUMNS = (
    f"id, left(generation, {limits.NAME}), seq, next_entry, next_number, left(next_ids::text, {limits.HEADER}), "
    f"left(header::text, {limits.HEADER})"
)
"""What `read_counters` reads. Nothing is fetched that is longer than it may be."""
_LONGEST_GENERATION = 64
_MOST_TABLES = 100


@dataclass(slots=True)
class Counters:
    """The counters of a scope.

    Attributes:
        id: Of the scope in the tables; 0 if it is not there.
        generation: Changes when rows were changed or removed; "" if the scope is not there.
        seq: Place of the last row.
        next_entry, next_number, next_ids: As in the header of a journal.
        header: Further fields of it.
    """

    id: int = 0
    generation: str = ""
    seq: int = 0
    next_entry: int = 0
    next_number: int = 1
    next_ids: dict[str, int] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)

    def take(self, row: LogRow) -> Logged:
        """Return a new row as the log will have it, and count it."""
        doc = self.next_ids.get(row.table, 1)
        number, first = row.number, row.first
        if row.steps and first is None:
            number, first = number or self.next_number, self.next_entry
        self.count(row.table, doc, number, first, row.steps)
        self.seq += 1
        return Logged(self.seq, row.table, doc, row.key, number, first, row.payload, row.made)

    def count(self, table: str, doc: int, number: int | None, first: int | None, steps: int) -> None:
        """Keep the numbers of a row from being given again."""
        self.next_ids[table] = max(self.next_ids.get(table, 1), doc + 1)
        if number is not None and first is not None:
            self.next_entry = max(self.next_entry, first + steps)
            self.next_number = max(self.next_number, number + 1)


def read_counters(fields: tuple[Any, ...]) -> Counters:
    """Return the counters that a row of the database has; see `COLUMNS`.

    Raises:
        BadFile: They are no counters.
    """
    number, generation, seq, next_entry, next_number, next_ids, header = fields
    if not (isinstance(generation, str) and 0 < len(generation) <= _LONGEST_GENERATION and generation.isalnum()):
        raise BadFile(f"its generation is {limits.shown(generation)}")
    for name, value in (("seq", seq), ("next_entry", next_entry), ("next_number", next_number)):
        if not limits.is_count(value):
            raise BadFile(f"its {name} is {value}")
    ids, about = limits.parsed(next_ids), limits.parsed(header)
    if not (isinstance(ids, dict) and len(ids) <= _MOST_TABLES and all(map(is_table, ids))
            and all(limits.is_count(value, 1) for value in ids.values())):  # fmt: skip
        raise BadFile(f"its next_ids are {limits.shown(ids)}")
    if not isinstance(about, Mapping) or not isinstance(about.get("about", {}), Mapping):
        raise BadFile(f"its header is {limits.shown(about)}")
    if about.get("created") is not None and not limits.is_number(about["created"]):
        raise BadFile(f"its time is {limits.shown(about['created'])}")
    limits.check_json(about, "its header")
    return Counters(number, generation, seq, next_entry, next_number, ids, dict(about))
