"""The table of case studies, beside the paper's."""

from __future__ import annotations

from engine import texts
from engine.bench.cases import best
from engine.bench.records import TEST
from engine.bench.report.results import Results
from engine.bench.report.shapes import Column, Table, TableCell, TableRow

STATE_CHARACTERS = 80
"""Longest description of a state in the table."""


def table(results: Results) -> Table | None:
    """Return the table, two rows a case; None if the suite asks for none or nothing was found."""
    tasks = {(row.cell, row.leg, row.episode): row.task for row in results.rows if row.phase == TEST}
    rows = []
    for arm in results.arms:
        name = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        for task in dict.fromkeys(task for place in results.places for task in place.tasks):
            mine = [case for case in results.cases
                    if case.cell in arm.cells and tasks.get((case.cell, case.leg, case.episode)) == task]
            for case in best(mine, int(results.wishes.get("cases") or 0)):
                place = texts.compact(case.state)[:STATE_CHARACTERS]
                where = f"{place} (episode {case.episode}, step {case.step + 1})"
                for one, points in ((case.before, ""), (case.after, f"{case.points:+g}" if case.points else "")):
                    rows.append(TableRow(task, (
                        TableCell(where if one is case.before else ""), TableCell(one.action, code=True),
                        TableCell(f"{one.z:.2f}"), TableCell(f"{one.z_prime:.2f}"),
                        TableCell(str(one.n)), TableCell(f"{one.q:.2f}"), TableCell(points),
                    ), name, (), arm.name, arm.model))  # fmt: skip
    if not rows:
        return None
    columns = (
        Column("State", number=False, wide=True), Column("Candidate", number=False), Column("Base"), Column("JitRL"),
        Column("Neighbours"), Column("Q"), Column("Points"),
    )  # fmt: skip
    return Table(
        "cases", "Case studies", "Decisions in which memory turned the choice to an action that neighbours took: of "
        "each task those that gained points, then those in which the probability rose most. First the candidate with "
        "the highest logit before the update (Base), then the one with the highest logit after it (JitRL). Points: "
        "what it gained, if it was played.",
        "Task", columns, tuple(rows),
    )  # fmt: skip
