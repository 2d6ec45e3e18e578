"""Searches the index of a scope, and makes the rows that are found into neighbours, with what persons corrected."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping

from engine.memory.exact.entries import Entries
from engine.memory.exact.retrieval import nearest
from engine.memory.search import Correction, NeighbourSearch
from engine.records import Neighbour, State

Hits = list[tuple[int, float]]
"""(row, similarity) pairs, best first."""
Corrections = Mapping[int, Correction]
"""What persons corrected, by entry number."""


def closest(entries: Entries, state: State, search: NeighbourSearch, corrections: Corrections) -> Hits:
    """Return the rows that are most similar to a state; pinned ones come besides the k."""
    pinned = {
        row for entry, one in corrections.items() if one.pinned and (row := entries.row(entry)) is not None
    }
    found = nearest(
        entries, state.tokens, state.history_tokens,
        k=len(entries) if pinned else search.k,
        r=search.r, weight=search.history_weight, floor=search.state_floor,
        keep_above=search.keep_above,
        returns=returns(entries, search, corrections) if search.ties == "return" else None,
    )  # fmt: skip
    if not pinned:
        return found
    close = search.keep_above if search.keep_above > 0 else 2.0
    return [
        (row, similarity) for n, (row, similarity) in enumerate(found)
        if n < search.k or similarity >= close or row in pinned
    ]  # fmt: skip


def returns(entries: Entries, search: NeighbourSearch, corrections: Corrections) -> array[float]:
    """Return the return of every row, with corrections."""
    found = entries.returns(search.gamma, search.zero_rewards == "own")
    changed = {
        row: one.g for entry, one in corrections.items()
        if one.g is not None and (row := entries.row(entry)) is not None
    }  # fmt: skip
    if changed:
        found = found[:]
        for row, g in changed.items():
            found[row] = g
    return found


def neighbours(
    hits: Hits, entries: Entries, search: NeighbourSearch, corrections: Corrections, text: Callable[[int], str]
) -> tuple[Neighbour, ...]:
    """Return the steps at these rows, as far as the lens of the search shows them.

    Args:
        text: Returns the text of a row's state.
    """
    columns, g = entries.columns, entries.returns(search.gamma, search.zero_rewards == "own")
    found = list[Neighbour]()
    for row, similarity in hits:
        episode = columns["episode"][row]
        step = row - entries.start[episode]
        entry = entries.first[episode] + step
        if search.lens.hides(entry):
            continue
        known = corrections.get(entry)
        found.append(
            Neighbour(
                entry=entry,
                similarity=similarity,
                action=entries.actions[columns["action"][row]],
                g=g[row] if known is None or known.g is None else known.g,
                episode=entries.numbers[episode],
                step=step,
                state=text(row),
                provenance=entries.provenances[columns["provenance"][row]],
            )
        )
    return tuple(found)
