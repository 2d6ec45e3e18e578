"""What a report consists of: tables, figures and words, the same for every format that they are written in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.bench.measures import Value


@dataclass(frozen=True, slots=True)
class TableCell:
    """A place of a table.

    Attributes:
        text: What is shown.
        range: The interval as text, "" without one.
        remark: What a reader must know of this place, for instance "2 of 3 seeds".
        bold: Whether it is set in bold.
        code: Whether the text is a command or a name in code.
        value: The numbers, for CSV files and for sorting. They have the unit of the measure.
        of: Number of units that were planned. It is larger than `value.n` if some are not finished.
    """

    text: str
    range: str = ""
    remark: str = ""
    bold: bool = False
    code: bool = False
    value: Value | None = None
    of: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        group: Heading over it and its neighbours with the same group, "" for none.
        measure: Name of the measure, "" if it shows none. CSV files have only columns with a measure.
        place: Name of the game, site or size of memory, for CSV files.
        number: Whether it is set to the right and sorted by value.
        wide: Whether its text is long and has to be wrapped.
        timed: Whether it shows how long something took, in a table that does not.
    """

    title: str
    group: str = ""
    measure: str = ""
    place: str = ""
    number: bool = True
    wide: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        title: Its heading, for instance the name of the arm.
        cells: One per column.
        group: Heading over it and its neighbours with the same group, for instance the model; "" for none.
        marks: Numbers of the notes of the table that belong to it, from 1.
        arm: Name of the arm that it shows, for CSV files.
        model: The model of the arm.
        part: A part of the arm that the row shows, for instance a size of memory; "" if it shows all of it.
    """

    title: str
    cells: tuple[TableCell, ...]
    group: str = ""
    marks: tuple[int, ...] = ()
    arm: str = ""
    model: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Short name, unique in its report: for CSV files and links.
        title: Its heading.
        caption: What it shows, and what a reader must know.
        corner: Heading of the rows' titles.
        columns: The columns without the rows' titles.
        rows: The rows.
        notes: Footnotes; rows refer to them by number.
        timed: Whether it shows how long something took, so that it differs from run to run.
        ours: Whether its numbers are of this run. Published ones are not, and are not in CSV files.
    """

    name: str
    title: str
    caption: str
    corner: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    timed: bool = False
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a figure.

    Attributes:
        label: Its name in the legend.
        colour: Number of its colour. Lines with the same name have the same number in all panels.
        x: Horizontal places.
        y: Heights, as many.
        low: Lower ends of the band, None without one.
        high: Upper ends.
    """

    label: str
    colour: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of a figure, with axes of its own.

    Attributes:
        title: Its heading.
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        lines: What is drawn.
        ticks: Texts at the places 0, 1, 2, ... of the horizontal axis, if it has no numbers.
        points: Whether each value is marked.
        log: Whether the horizontal axis is logarithmic. All places are positive then.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    ticks: tuple[str, ...] = ()
    points: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one or more panels with a common legend.

    Attributes:
        name: Short name, unique in its report: the name of its files.
        title: Its heading.
        caption: What it shows.
        panels: Its panels, in the order of reading.
        timed: Whether it shows how long something took.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    timed: bool = False

    @property
    def legend(self) -> tuple[tuple[str, int], ...]:
        """The names of all lines with the numbers of their colours, without repetition."""
        return tuple(dict.fromkeys((line.label, line.colour) for panel in self.panels for line in panel.lines))


@dataclass(frozen=True, slots=True)
class Words:
    """A section of sentences.

    Attributes:
        title: Its heading.
        sentences: Its sentences or list of items.
    """

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        title: Its title.
        about: What it is about, a paragraph; may be empty.
        parts: Tables, figures and words in the order of reading.
    """

    title: str
    about: str
    parts: tuple[Table | Figure | Words, ...] = field(default_factory=tuple)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures."""
        return tuple(part for part in self.parts if isinstance(part, Figure))

    def only(self, timed: bool) -> Report:
        """Return a report with the tables, columns and figures that show times, or with everything else."""
        parts = tuple(
            _columns(part, timed) if isinstance(part, Table) else part
            for part in self.parts
            if (not isinstance(part, Words) and part.timed) == timed
            or (timed and isinstance(part, Table) and any(column.timed for column in part.columns))
        )
        return Report(self.title, "" if timed else self.about, parts)


def _columns(table: Table, timed: bool) -> Table:
    """Return a table with its columns that show times, or without them."""
    if table.timed or not any(column.timed for column in table.columns):
        return table
    kept = [at for at, column in enumerate(table.columns) if column.timed == timed]
    rows = tuple(replace(row, cells=tuple(row.cells[at] for at in kept)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)
