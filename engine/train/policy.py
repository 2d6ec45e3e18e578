"""The policy that is trained: every token of an action is drawn from those with which a valid action can go on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from engine.llm.local.trie import choices


class TriePolicy:
    """Scores actions with a model that may change between two calls of `renew`. Used in one thread at a time.

    Args:
        model: A causal language model of transformers, possibly with an adapter.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._fed: list[int] = []
        self._cache: Any = None
        self._next: Any = None

    def use(self, model: Any) -> None:
        """Score with another model from now on, such as the same one with an adapter."""
        self._model = model
        self.renew()

    def renew(self) -> None:
        """Forget what was computed with earlier weights."""
        self._fed, self._cache, self._next = [], None, None

    def score(self, prompt: Sequence[int], tails: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability (nats) of each token of each tail after the prompt; 0 for forced ones.

        Args:
            prompt: Tokens.
            tails: Tokens of each action, distinct, at least one.
        """
        allowed = choices(tails)
        branches = {
            tuple(tail[:depth]): tokens[depth]
            for tail, tokens in zip(tails, allowed, strict=True)
            for depth in range(len(tail))
            if len(tokens[depth]) > 1
        }
        training = self._model.training
        self._model.eval()  # no dropout, and layers that are computed again in training keep nothing between calls
        with torch.no_grad():
            logits = self._at(list(prompt), list(branches))
        self._model.train(training)
        found = {
            before: torch.log_softmax(logits[before][list(tokens)].float(), dim=-1).tolist()
            for before, tokens in branches.items()
        }
        return [
            [
                found[tuple(tail[:depth])][tokens[depth].index(token)] if len(tokens[depth]) > 1 else 0.0
                for depth, token in enumerate(tail)
            ]
            for tail, tokens in zip(tails, allowed, strict=True)
        ]

    def _at(self, prompt: list[int], branches: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Any]:
        """Return the logits after the prompt and each of these continuations, each of shape (vocabulary,)."""
        self._feed(prompt)
        found: dict[tuple[int, ...], Any] = {(): self._next}
        inner = sorted((branch for branch in branches if branch), key=len, reverse=True)
        rows: list[tuple[int, ...]] = []
        for branch in inner:  # one that another begins with is computed with it
            if not any(row[: len(branch)] == branch for row in rows):
                rows.append(branch)
        if rows:
            width = len(rows[0])
            device = self._next.device
            ids = torch.tensor([[*row, *[row[-1]] * (width - len(row))] for row in rows], device=device)
            cache = copy.deepcopy(self._cache)
            cache.batch_repeat_interleave(len(rows))
            logits = self._model(input_ids=ids, cache=cache, use_cache=True).logits
            for branch in inner:
                row = next(i for i, one in enumerate(rows) if one[: len(branch)] == branch)
                found[branch] = logits[row, len(branch) - 1]
        return found

    def _feed(self, prompt: list[int]) -> None:
        """Process a prompt; only what differs from the last one is computed."""
        if prompt == self._fed:
            return
        common = 0
        limit = min(len(self._fed), len(prompt) - 1)
        while common < limit and self._fed[common] == prompt[common]:
            common += 1
        if getattr(self._model.config, "sliding_window", None):  # its early states are gone
            self._cache, common = None, 0
        if self._cache is not None and common < len(self._fed):
            self._cache.crop(common - len(self._fed))
        device = next(self._model.parameters()).device
        ids = torch.tensor([prompt[common:]], device=device)
        out = self._model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=1)
        self._fed, self._cache, self._next = list(prompt), out.cache, out.logits[0, -1]
