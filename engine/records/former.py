"""Records as earlier versions of jitrl wrote them, brought to the fields that they have now.

How an episode ended was told by `done`, `won` and `died`. `done` meant that the environment had ended it. A time limit
of the environment's own, or a browser that was gone, counted as `done`, too: it is read as terminated, without outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records.events import EpisodeEnded
from engine.records.lived import Episode, Observation

_ENDS = ("done", "won", "died")


def modern(cls: type[Any], data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plain fields `data` of a record of the class `cls` under their present names."""
    if cls not in (Observation, Episode, EpisodeEnded) or not any(name in data for name in _ENDS):
        return data
    done = data.get("done", False)
    ends = {
        "terminated": done,
        # A whole episode that the environment had not ended had run out of steps.
        "truncated": cls is not Observation and not done,
        "outcome": "won" if data.get("won") else "lost" if data.get("died") else "",
    }
    return {**ends, **data}
