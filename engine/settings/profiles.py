"""Profiles: named sets of settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from engine.errors import UsageError, did_you_mean
from engine.settings.groups import Settings

_PAPER: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "sample", "rewards": "llm", "history": "llm",
    "epsilon_times": 1, "beta": 1.2, "unremembered": "best_action",
    "prompt_tokens": 1_000_000,
}  # fmt: skip

_REFERENCE: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "first", "unsaid_confidence": "fifty",
    "unremembered": "best_action", "alpha": 1.0, "beta": 1.0, "baseline": "candidates",
    "normalisation": "positive", "epsilon": 1e-12, "zero_rewards": "own", "relax": 0.1,
}  # fmt: skip

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "reference": _REFERENCE,
    "unified": _PAPER,
}
"""The settings that a profile changes for all kinds of environments. `engine.kinds.Kind.profiles` has further changes
for one kind.

- `default` learns best with a small model or none. In games, its values come from plans through memory, and
  it takes the most probable action.
- `paper` is the paper's method with a model that writes and judges. docs/paper.md lists the choices that the
  paper leaves open.
- `reference` follows the authors' published code where it differs from the paper.
- `unified` is one method for games and the web: Algorithm 1's own retrieval, with the numbers of the paper's
  two tables.
"""


def make_settings(name: str, special: Mapping[str, Any], changes: Mapping[str, Any]) -> Settings:
    """Return the settings of a profile.

    Args:
        special: Changes of the profile for the kind of environment.
        changes: Further changes, applied last.

    Raises:
        UsageError: No such profile or setting, or a value out of range.
    """
    if name not in PROFILES:
        raise UsageError(
            f"there is no profile {name!r}{did_you_mean(name, PROFILES)}; choose one of: {', '.join(PROFILES)}"
        )
    known = {spec.name for spec in dataclasses.fields(Settings)}
    for key in changes:
        if key not in known:
            near = did_you_mean(key, known) or f"; the settings are: {', '.join(sorted(known))}"
            raise UsageError(f"there is no setting {key!r}{near}")
    return Settings(**{**PROFILES[name], **special, **changes})


def differences(one: Settings, other: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each with its two values."""
    return {
        spec.name: (a, b)
        for spec in dataclasses.fields(Settings)
        if (a := getattr(one, spec.name)) != (b := getattr(other, spec.name))
    }
