"""A prefix tree of token sequences, so that each token of a shared prefix is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
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

    nodes: tuple[Node, ...]
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
    return Trie(tuple(Node(t, d, tuple(ids)) for t, d, ids in nodes), tuple(paths))
