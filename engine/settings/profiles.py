"""Profiles: named sets of settings, by kind of environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from engine.errors import UsageError
from engine.settings.whole import Settings

DOMAINS = ("game", "web")

_WEB_TABLE: Mapping[str, Any] = {
    "domain": "web", "gamma": 0.1, "lam": 0.05, "r": 0.8, "history_weight": 0.7, "task_threshold": 0.27,
    "step_limit": 10,
}  # fmt: skip
"""The paper's table of hyperparameters for WebArena."""

_PAPER: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "sample", "rewards": "llm", "history": "llm",
    "epsilon_times": 1, "beta": 1.2,
}  # fmt: skip

_REFERENCE: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "greedy", "unsaid_confidence": "fifty",
    "unremembered": "best_action", "alpha": 1.0, "beta": 1.0, "baseline": "candidates",
    "normalisation": "positive", "zero_rewards": "own", "relax": 0.1,
}  # fmt: skip

PROFILES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "default": {
        "game": {"estimator": "graph", "selection": "greedy", "beta": 20.0, "curiosity": 3.0, "settling": 0.2},
        "web": {
            **_WEB_TABLE, "other_tasks": "lifted", "rewards": "hybrid", "transform": "linear", "selection": "greedy",
        },
    },
    "paper": {
        "game": {**_PAPER, "retrieval": "hybrid", "history_weight": 0.25, "state": "llm", "history_every": 1},
        "web": {**_WEB_TABLE, **_PAPER, "beta": 1.23, "history": "vision"},
    },
    "reference": {
        "game": {
            **_REFERENCE, "retrieval": "recall", "state": "raw", "ngram": 4, "history_tokens": "text",
            "history_weight": 0.3, "history": "llm", "history_every": 1, "keep_above": 0.98, "ties": "return",
            "optimism": "adaptive", "memory_candidates": "positive", "beta_growth": 0.5, "rewards": "llm_or_score",
            "reward_scale": 10.0,
        },
        "web": {**_WEB_TABLE, **_REFERENCE, "history": "vision", "rewards": "llm", "k": 1000},
    },
    "unified": {
        "game": {**_PAPER, "history_weight": 0.25, "state": "llm", "history_every": 1},
        "web": {**_WEB_TABLE, **_PAPER, "history_weight": 0.25, "task_threshold": 0.0, "history": "llm"},
    },
}  # fmt: skip
"""Differences from the defaults above, by name and by kind of environment.

- `default` learns best with a small model or none: values by planning through memory, the most probable action taken.
- `paper` is the paper's method with a model that writes and judges. Where the paper leaves a choice open,
  docs/paper.md says which one was made.
- `reference` is what the authors' published code does where it differs from the paper.
- `unified` is one pipeline for games and the web: Algorithm 1's own retrieval, with the numbers of the two tables.
"""


def profile(name: str, kind: str = "game", /, **changes: Any) -> Settings:
    """Return the settings of a profile with `changes` on top.

    Args:
        kind: Kind of environment, one of `DOMAINS`.

    Raises:
        UsageError: No such profile or setting, or a value out of range.
    """
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; choose one of: {', '.join(PROFILES)}")
    known = {spec.name for spec in dataclasses.fields(Settings)}
    for key in changes:
        if key not in known:
            raise UsageError(f"there is no setting {key!r}; the settings are: {', '.join(sorted(known))}")
    return Settings(**{**PROFILES[name][kind], **changes})


def differences(one: Settings, other: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each with its two values."""
    return {
        spec.name: (a, b)
        for spec in dataclasses.fields(Settings)
        if (a := getattr(one, spec.name)) != (b := getattr(other, spec.name))
    }
