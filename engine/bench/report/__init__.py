"""Reports of a benchmark: from the files of a run to Markdown, CSV, LaTeX, figures and a page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from engine.bench.published import read_published
from engine.bench.report import (
    by_task,
    figures,
    growth,
    images,
    latex,
    page,
    plain_text,
    tables,
    words,
)
from engine.bench.report.elements import Report
from engine.bench.report.joined import first, join_runs
from engine.bench.report.results import Results, load
from engine.disk import printable
from engine.errors import FailingAs, MissingError, StorageError, UsageError

__all__ = ["FORMATS", "Results", "first", "join_runs", "load", "make", "markdown", "plain", "summary", "write"]

FORMATS = ("md", "csv", "tex", "html", "svg", "png")
"""The formats that a report can be written in."""

SUMMARY = ("scores", "tasks", "unfinished", "differences")
"""The tables of a summary."""


def make(results: Results, per: str = "") -> Report:
    """Return the report of a run.

    Args:
        per: What its curves are drawn against, one of `samples.PER`; "" for what the suite says.

    Raises:
        UsageError: The suite names a measure or a published table that there is not.
    """
    measures = words.wished_measures(results)
    parts = [
        by_task.table(results) if results.wishes.get("rows") == "tasks" else tables.scores(results, measures),
        tables.unfinished_table(results),
        tables.differences(results, measures),
        figures.figure(results, measures, per),
        *(tables.published_table(found, results) for id in results.wishes.get("published") or ()
          if (found := read_published(str(id))).rows_for(place.name for place in results.places)),
        tables.cases(results),
        tables.decisions(results),
        tables.costs(results),
        tables.samples_table(results),
        tables.times(results),
        tables.samples_table(results, timed=True),
        growth.table(results),
        words.protocol(results, measures),
        tables.commands(results),
        tables.surroundings(results),
    ]
    title, about = results.plan.get("title") or results.manifest.get("suite") or "Benchmark", results.plan.get("about")
    return Report(str(title), str(about or ""), tuple(part for part in parts if part is not None))


def markdown(results: Results, per: str = "") -> str:
    """Return the whole report as Markdown, without pictures; see `make`."""
    return plain_text.markdown(make(results, per))


def plain(results: Results, per: str = "") -> dict[str, Any]:
    """Return the numbers of the tables as JSON values; see `make`."""
    return plain_text.plain(make(results, per))


def summary(results: Results) -> str:
    """Return the main table and the differences to the reference as Markdown.

    Raises:
        UsageError: As `make`.
    """
    whole = make(results)
    return plain_text.markdown(Report(whole.title, "", tuple(part for part in whole.tables if part.name in SUMMARY)))


def write(results: Results, out: Path, formats: Collection[str] = FORMATS, per: str = "") -> list[Path]:
    """Write the report of a run.

    What depends on how long something took is in files of its own (`timings.*`), so that two runs with the same scores
    have the same `report.md`, `report.csv` and `report.tex`. The page has both.

    Args:
        results: The results of the run.
        out: The folder for the files. It is made if it is missing.
        formats: Some of `FORMATS`.
        per: As of `make`.

    Returns:
        The files that were written.

    Raises:
        UsageError: There is no such format, or as `make`.
        StorageError: A file cannot be written.
        MissingError: Figures were asked for, and matplotlib is not installed. Everything else was written.
    """
    wrong = sorted(set(formats) - set(FORMATS))
    if wrong:
        raise UsageError(f"there is no format {wrong[0]!r} of reports; choose among: {', '.join(FORMATS)}")
    report = make(results, per)
    files: dict[str, str | bytes] = {}
    missing: MissingError | None = None
    try:
        for figure in report.figures:
            files |= {f"{figure.name}.{one}": images.draw(figure, one) for one in images.FORMATS if one in formats}
    except MissingError as error:
        missing = error
    pictures = {figure.name: name for figure in report.figures
                for name in (f"{figure.name}.png", f"{figure.name}.svg") if name in files}  # fmt: skip
    texts: Mapping[str, Callable[[Report], str]] = {
        "md": lambda one: plain_text.markdown(one, pictures), "csv": plain_text.tidy, "tex": latex.latex,
    }  # fmt: skip
    for ending, text in texts.items():
        if ending in formats:
            files[f"report.{ending}"] = text(report.only(timed=False))
            files[f"timings.{ending}"] = text(report.only(timed=True))
    if "html" in formats:
        files["report.html"] = page.page(report)
    written = [_write(out / name, data) for name, data in files.items()]
    if missing is not None:
        raise missing
    return written


def _write(file: Path, data: str | bytes) -> Path:
    with FailingAs(StorageError, f"{printable(file)} cannot be written"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return file
