"""What a method keeps between episodes, besides the episodes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kept:
    """One record that a method keeps: a reflection, a workflow, a strategy.

    Attributes:
        kind: One word, chosen by the method: "reflection".
        text: What is kept, in words.
        data: What is kept in other forms; plain JSON values.
        scope: Where it belongs: a game, or a site and page pattern.
        agent: The method that kept it.
        model: The model that the session played with.
        session: The session it was kept in.
        episode: Number of the episode in that session, from 1; 0 before the first one.
        episode_uid: The episode's uid, "" before the first one.
        at: Unix time, seconds.
        provenance: "agent", or "imported:NAME".
        uid: Unique for ever; a record sent twice is stored once.
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
