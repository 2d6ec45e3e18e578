"""Converts records of earlier versions of jitrl to the present fields, as plain JSON values.

- The end of an episode was stored as `done`, `won` and `died`. `done` meant that the environment had ended the episode,
  including by a time limit of its own or because its browser was gone. It is read as terminated, without outcome.
- Values and advantages were fields of a decision. They are now in its part `Update`.
- A decision did not say who let it be carried out. The person did if the action is the person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records.decision import Decision
from engine.records.episodes import Episode, Observation
from engine.records.events import EpisodeEnded

_ENDS = ("done", "won", "died")

_UPDATE = (
    "neighbours", "valuation", "advantage", "advantage_normalised", "z_prime", "beta", "without_memory", "equation",
)  # fmt: skip


def modern(cls: type[Any], data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plain fields `data` of a record of the class `cls` in their present form."""
    if cls is Decision:
        return _decision(data)
    if cls in (Observation, Episode, EpisodeEnded) and any(name in data for name in _ENDS):
        return _ended(cls, data)
    return data


def _ended(cls: type[Any], data: Mapping[str, Any]) -> Mapping[str, Any]:
    done = data.get("done", False)
    ends = {
        "terminated": done,
        # A whole episode that the environment did not end had reached the step limit.
        "truncated": cls is not Observation and not done,
        "outcome": "won" if data.get("won") else "lost" if data.get("died") else "",
    }
    return {**ends, **data}


def _decision(data: Mapping[str, Any]) -> Mapping[str, Any]:
    if "by" not in data and data.get("provenance") == "human":
        data = {**data, "by": "person"}
    if "parts" in data or "valuation" not in data:
        return data
    update = {name: data[name] for name in _UPDATE if name in data}
    rest = {name: value for name, value in data.items() if name not in _UPDATE}
    return {**rest, "parts": [{"part": "Update", **update}]}
