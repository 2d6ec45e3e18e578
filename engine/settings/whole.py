"""All settings in one record."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.judging import JudgingSettings
from engine.settings.learning import LearningSettings
from engine.settings.model import ModelSettings
from engine.settings.policy import PolicySettings
from engine.settings.retrieval import RetrievalSettings
from engine.settings.run import RunSettings
from engine.settings.states import StateSettings
from engine.settings.values import ValueSettings


# A dataclass takes the fields of its last base first, so the first group to be shown stands last.
@dataclass(frozen=True)
class Settings(
    RunSettings,
    LearningSettings,
    JudgingSettings,
    ModelSettings,
    PolicySettings,
    ValueSettings,
    StateSettings,
    RetrievalSettings,
):
    """All that shapes how an agent decides, is judged and remembers: the settings of every room together.

    Names are unique over all rooms, so a room is handed the whole and declares which group of it it reads.
    """


GROUPS = (
    RetrievalSettings,
    StateSettings,
    ValueSettings,
    PolicySettings,
    ModelSettings,
    JudgingSettings,
    LearningSettings,
    RunSettings,
)
"""The groups in the order in which they are shown."""
