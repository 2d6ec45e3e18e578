"""Exact search for the k nearest remembered steps, without comparing most of them token by token.

    similarity = (1 - w) J(state, s) + w J(history, h)

The sketches of a step's token sets give an upper bound of its similarity. The steps with the highest bounds are
compared first. All steps whose bound is below the k-th best similarity found there are skipped. The rows that are found
become neighbours, with what persons corrected.
"""

from __future__ import annotations

import heapq
import itertools
import operator
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from engine.memory.exact.entries import NOTHING, Entries
from engine.memory.exact.index import TokenQuery
from engine.memory.search import Correction, NeighbourSearch
from engine.records import Neighbour, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]


_SLACK = 1e-9
_LEAST = 0.3
"""With a smaller bound on J(states) the filters keep nearly every state, so all states are compared instead."""


def nearest(
    entries: Entries,
    tokens: tuple[str, ...],
    history: tuple[str, ...],
    *,
    k: int,
    r: float,
    weight: float,
    floor: float = 0.0,
    keep_above: float = 0.0,
    returns: array[float] | None = None,
) -> list[tuple[int, float]]:
    """Return at most k rows of similarity r or more, best first, newest first among equals.

    Args:
        entries: The rows.
        tokens: Tokens of the state.
        history: Tokens of its history.
        k: Number of rows.
        r: Least similarity.
        weight: w, the weight of the histories' similarity, 0 to 1.
        floor: J(state, s) must be greater than this; 0 for no such condition.
        keep_above: Rows of this similarity or more are all returned, even beyond k; 0 for none.
        returns: By row: its return. Among equally similar rows the higher return comes first, then the newest row.

    Returns:
        (row, similarity) pairs.
    """
    if k < 1 or not entries.live:
        return []
    query = entries.states.query(tokens)
    least = max((r - weight) / (1 - weight) if weight < 1 else 0.0, floor) - _SLACK
    known = None
    if least >= _LEAST:
        states, apart = entries.states.candidates(query, least)
        bound = entries.states.bound(query, states, apart)
        near = bound >= least
        states, bound = states[near], bound[near]
        if not len(states):
            return []
    else:
        states = np.arange(len(entries.states), dtype=np.int32)
        bound = known = entries.states.compare_all(query)
    if weight > 0:
        other = entries.histories.query(history)
        candidates = _pairs(entries, query, other, states, bound, known, weight, floor)
    else:
        candidates = _states(entries, query, states, bound, known, floor)
    return select(*candidates, k, r, keep_above, returns)


Candidates = tuple["Floats", "Ints", "Callable[[NDArray[np.int64]], Floats]", "array[int]"]
"""Groups of equal rows: `bound`, `newest`, `score` and `older` as `select` takes them."""


def _states(
    entries: Entries, query: TokenQuery, states: Ints, bound: Floats, known: Floats | None, floor: float
) -> Candidates:
    """Return the candidate states. Each stands for all rows with this state.

    Args:
        known: J of every state, where it was computed; None if `bound` has upper bounds.
    """
    newest = np.frombuffer(entries.state_last, np.int32)[states]
    has_step = newest != NOTHING  # a state that was only the last of its episodes has no step
    states, newest, bound = states[has_step], newest[has_step], bound[has_step]

    def score(chosen: NDArray[np.int64]) -> Floats:
        exact = bound[chosen] if known is not None else entries.states.compare(query, states[chosen])
        return _above(exact, exact, floor)

    return bound, newest, score, entries.columns["older_state"]


def _pairs(
    entries: Entries, query: TokenQuery, other: TokenQuery, states: Ints, bound: Floats, known: Floats | None,
    weight: float, floor: float,
) -> Candidates:  # fmt: skip
    """Return the candidate pairs of state and history. Each stands for all rows with both."""
    if known is None:
        pairs, at = entries.pairs_of(states)
    else:  # all states, hence all pairs
        pairs, at = np.arange(len(entries.pair_state), dtype=np.int32), np.array(entries.pair_state, np.int32)
    histories = np.frombuffer(entries.pair_history, np.int32)[pairs]
    apart = entries.histories.least_differences(other, histories)
    upper = entries.histories.bound(other, histories, apart)

    def score(chosen: NDArray[np.int64]) -> Floats:
        if known is not None:
            of_state = known[at[chosen]]
        else:
            of_state = _once_each(entries.states.compare, query, states[at[chosen]])
        of_history = _once_each(entries.histories.compare, other, histories[chosen])
        return _above((1 - weight) * of_state + weight * of_history, of_state, floor)

    newest = np.frombuffer(entries.pair_last, np.int32)[pairs]
    return (1 - weight) * bound[at] + weight * upper, newest, score, entries.columns["older_pair"]


def _above(score: Floats, states: Floats, floor: float) -> Floats:
    """Return the scores, with -inf where the similarity of the states is not above `floor`."""
    return np.where(states > floor, score, -np.inf) if floor > 0 else score


def _once_each(compare: Callable[[TokenQuery, Ints], Floats], query: TokenQuery, numbers: Ints) -> Floats:
    """Return J for each number. If there are many numbers, each distinct one is compared once."""
    if len(numbers) < 256:
        return compare(query, numbers)
    distinct, where = np.unique(numbers, return_inverse=True)
    return compare(query, distinct)[where]


def select(
    bound: Floats,
    newest: Ints,
    score: Callable[[NDArray[np.int64]], Floats],
    older: array[int],
    k: int,
    r: float,
    keep_above: float = 0.0,
    returns: array[float] | None = None,
) -> list[tuple[int, float]]:
    """Return the best k rows of groups of equal rows, best first.

    Args:
        bound: By group: an upper bound of its similarity.
        newest: By group: its newest row.
        score: Takes indexes of groups and returns their exact similarities, -inf for groups that are excluded.
        older: By row: the next older row of its group, -1 if there is none.
        k, r, keep_above, returns: As of `nearest`.
    """
    possible = np.flatnonzero(bound >= r - _SLACK)
    probe = 2 * k + 16
    if len(possible) > 2 * probe:
        promising = possible[np.argpartition(bound[possible], -probe)[-probe:]]
        kth = np.partition(score(promising), -k)[-k]
        possible = possible[bound[possible] >= _least(kth, keep_above) - _SLACK]
    scores = score(possible)
    keep = (scores >= r) & (scores > -np.inf)
    last, scores = newest[possible[keep]], scores[keep]
    if not len(last):
        return []
    order = np.lexsort((last, scores))[::-1]
    if returns is None and keep_above <= 0:
        # The best k groups hold the best k rows: before a row of any other group come k better or newer rows.
        order = order[:k]
    elif len(order) > k:
        order = order[scores[order] >= _least(scores[order[k - 1]], keep_above)]
    return _rows(
        zip(scores[order].tolist(), last[order].tolist(), strict=True), older, k, keep_above, returns
    )


def order(
    rows: NDArray[np.int64], scores: Floats, k: int, keep_above: float, returns: array[float] | None
) -> list[tuple[int, float]]:
    """Return the best k of single rows as (row, similarity), in the order that `select` uses."""
    of_row = np.zeros(len(rows)) if returns is None else np.array([returns[row] for row in rows.tolist()])
    best = np.lexsort((rows, of_row, scores))[::-1]
    kept = int((scores >= keep_above).sum()) if keep_above > 0 else 0
    best = best[: max(k, kept)]
    return list(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def _least(kth: float, keep_above: float) -> float:
    """Return the least similarity that a returned row can have, if `kth` is the similarity of the k-th best."""
    return min(kth, keep_above) if keep_above > 0 else kth


def _rows(
    groups: Iterator[tuple[float, int]],
    older: array[int],
    k: int,
    keep_above: float,
    returns: array[float] | None,
) -> list[tuple[int, float]]:
    """Return the rows of groups. The groups are (similarity, newest row) pairs, the most similar first."""
    found: list[tuple[int, float]] = []
    for similarity, equal in itertools.groupby(groups, key=operator.itemgetter(0)):
        kept = keep_above > 0 and similarity >= keep_above
        left = k - len(found)
        if left <= 0 and not kept:
            break
        chains = [_chain(row, older) for _, row in equal]
        newest_first = chains[0] if len(chains) == 1 else heapq.merge(*chains, reverse=True)
        if returns is not None:
            rows = list(newest_first)
            rows.sort(key=returns.__getitem__, reverse=True)  # stable: the newest stays first
            if not kept:
                del rows[left:]
        else:
            rows = list(newest_first if kept else itertools.islice(newest_first, left))
        found += [(row, similarity) for row in rows]
    return found


def _chain(row: int, older: array[int]) -> Iterator[int]:
    """Yield a group's rows, newest first."""
    while row != NOTHING:
        yield row
        row = older[row]


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
    """Return the steps at these rows, as far as the filter of the search shows them.

    Args:
        text: Returns the text of a row's state.
    """
    columns, g = entries.columns, entries.returns(search.gamma, search.zero_rewards == "own")
    found = list[Neighbour]()
    for row, similarity in hits:
        episode = columns["episode"][row]
        step = row - entries.start[episode]
        entry = entries.first[episode] + step
        if search.memory_filter.hides(entry):
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
