"""The plain, frozen records that walk between rooms, and the events made of them.

Nothing here behaves: records are built at the edges, read everywhere, and turned to and from JSON
by `engine.codec`. Symbols follow the paper (arXiv sources, Sec. 4): s state, a action, r step reward,
G discounted return, z logit, V and Q values, A advantage.
"""

from __future__ import annotations

from engine.records.deciding import (
    NO_TALLY,
    PARTS,
    ActionRequest,
    Basis,
    BasisItem,
    Candidate,
    Decision,
    ModelCall,
    Neighbour,
    Part,
    Proposal,
    Tally,
    UnknownPart,
    Update,
    Valuation,
)
from engine.records.events import (
    EVENTS,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCalled,
    Notice,
    PageShown,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    Stepped,
    TakenBack,
    Thinking,
    Waiting,
)
from engine.records.kept import Kept
from engine.records.lived import (
    EnvironmentInfo,
    Episode,
    Observation,
    State,
    Step,
    Trajectory,
)

__all__ = [
    "EVENTS",
    "NO_TALLY",
    "PARTS",
    "ActionRequest",
    "Basis",
    "BasisItem",
    "Candidate",
    "Decided",
    "Decision",
    "EnvironmentInfo",
    "Episode",
    "EpisodeEnded",
    "EpisodeStarted",
    "Event",
    "Kept",
    "ModelCall",
    "ModelCalled",
    "Neighbour",
    "Notice",
    "Observation",
    "PageShown",
    "Part",
    "Paused",
    "Proposal",
    "Resumed",
    "SessionEnded",
    "SessionStarted",
    "State",
    "Step",
    "Stepped",
    "TakenBack",
    "Tally",
    "Thinking",
    "Trajectory",
    "UnknownPart",
    "Update",
    "Valuation",
    "Waiting",
]
