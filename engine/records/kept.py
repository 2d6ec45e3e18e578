"""Records that a method stores between episodes, apart from the episodes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kept:
    """One record that a method stores, for instance a reflection, a workflow or a strategy.

    Attributes:
        kind: One word chosen by the method, for instance "reflection".
        text: The content in words.
        data: Further content, as plain JSON values.
        scope: The memory it belongs to: a game, or a site and page pattern.
        agent: The method that stored it.
        model: The model of the session.
        session: The session that stored it.
        episode: Number of the episode in that session, from 1; 0 before the first one.
        episode_uid: The episode's uid, "" before the first one.
        at: Unix time, seconds.
        provenance: "agent", "human" (corrections of a person), or "imported:NAME".
        uid: Unique id. A record with a uid that is already stored is not stored again.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""
    agent: str = ""
    model: str = ""
    session: str = ""
    episode: int = 0
    episode_uid: str = ""
    at: float = 0.0
    provenance: str = "agent"
    uid: str = ""
