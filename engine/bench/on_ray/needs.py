"""What a cell needs of the node that plays it, as resources of Ray."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.bench.records import Cell
from engine.environments import kind_of

CORES, MEMORY, BROWSER, MODEL = "CPU", "memory", "browser", "local_model"
"""Names of resources. The last two are our own: nodes are started with them."""
_GIB = 1 << 30
_CELL_GIB, _BROWSER_GIB, _MODEL_GIB = 0.5, 1.0, 2.0
"""Memory that is set aside for a cell, and what a browser and a model in the worker need beside it."""

Needs = Mapping[str, float]


def needs(cell: Cell) -> Needs:
    """Return the resources of a cell by name: cores, bytes of memory, browsers, models that run in the worker."""
    browser = any(kind_of(leg.task).browser for leg in cell.legs)
    model = "local/" in cell.model or "local:" in cell.model
    found = {CORES: 1.0, MEMORY: _GIB * (_CELL_GIB + _BROWSER_GIB * browser + _MODEL_GIB * model)}
    if browser:
        found[BROWSER] = 1.0
    if model:
        found[MODEL] = 1.0
    return found


def distinct(cells: Iterable[Cell]) -> list[Needs]:
    """Return the needs of all cells without repetitions."""
    return list({tuple(sorted(each.items())): each for each in map(needs, cells)}.values())


def fits(wanted: Needs, there: Mapping[str, float]) -> bool:
    """Whether a node with these resources can play such a cell when it plays nothing else."""
    return all(there.get(name, 0.0) >= amount for name, amount in wanted.items())


def shown(wanted: Needs) -> str:
    """Return needs for people."""
    parts = [f"{amount / _GIB:g} GiB of memory" if name == MEMORY else f"{amount:g} {name}"
             for name, amount in wanted.items()]  # fmt: skip
    return ", ".join(parts)
