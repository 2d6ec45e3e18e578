"""A prefix tree of token sequences, so that each token of a shared prefix is computed once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrieNode:
    """One token to feed to the model.

    Attributes:
        token: Its number in the vocabulary.
        depth: Tokens before it on its path, 0 right after the prompt.
        tails: Indices of the tails it belongs to, ascending.
    """

    token: int
    depth: int
    tails: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trie:
    """Tails as a tree, parents before children.

    Attributes:
        nodes: The tokens to feed. The last token of a tail is only predicted, never fed.
        paths: For each tail and token, the node after which it is predicted: its index, or -1 for the end of the
            prompt.
    """

    nodes: tuple[TrieNode, ...]
    paths: tuple[tuple[int, ...], ...]


def build(tails: Sequence[Sequence[int]]) -> Trie:
    """Return the tree of `tails`, each of at least one token.

    Raises:
        ValueError: A tail has no tokens.
    """
    if any(len(tail) == 0 for tail in tails):
        raise ValueError("a tail needs at least one token")
    nodes: list[tuple[int, int, list[int]]] = []
    found: dict[tuple[int, int], int] = {}
    paths = []
    for index, tail in enumerate(tails):
        path = [-1]
        for depth, token in enumerate(tail[:-1]):
            key = (path[-1], token)
            if key not in found:
                found[key] = len(nodes)
                nodes.append((token, depth, []))
            nodes[found[key]][2].append(index)
            path.append(found[key])
        paths.append(tuple(path))
    return Trie(tuple(TrieNode(t, d, tuple(ids)) for t, d, ids in nodes), tuple(paths))


def choices(tails: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], ...]]:
    """Return for each tail and token which tokens may stand there after the tokens before it, ascending.

    A token that stands alone is forced: it is the only one with which any of the tails goes on.
    """
    found: dict[tuple[int, ...], set[int]] = {}
    for tail in tails:
        for depth, token in enumerate(tail):
            found.setdefault(tuple(tail[:depth]), set()).add(token)
    known = {before: tuple(sorted(tokens)) for before, tokens in found.items()}
    return [tuple(known[tuple(tail[:depth])] for depth in range(len(tail))) for tail in tails]


def constrained_logprobs(tails: Sequence[Sequence[int]], logprobs: Sequence[Sequence[float]]) -> list[float]:
    """Return the log-probability of each tail if every token is drawn from those with which a tail can go on.

    Args:
        tails: Distinct tails, none of which begins with another.
        logprobs: Log-probability (nats) of each token over the whole vocabulary, as `Runtime.score` returns them.

    Returns:
        Their exponentials sum to 1.
    """
    at: dict[tuple[int, ...], float] = {}
    for tail, values in zip(tails, logprobs, strict=True):
        for depth, value in enumerate(values):
            at[tuple(tail[: depth + 1])] = value
    totals: dict[tuple[int, ...], list[float]] = {}
    for path, value in at.items():
        totals.setdefault(path[:-1], []).append(value)
    norms = {before: _logsumexp(values) for before, values in totals.items()}
    return [
        sum(at[tuple(tail[: depth + 1])] - norms[tuple(tail[:depth])] for depth in range(len(tail))) for tail in tails
    ]


def _logsumexp(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))
