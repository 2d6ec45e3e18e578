"""The settings: all numbers and choices that change a decision, with meaning, range and source.

Each group is a frozen class, and `Settings` has all groups together. Tables named in meanings are in the
paper's appendix on hyperparameters (Jericho).
"""

from engine.settings.groups import (
    GROUPS,
    JudgingSettings,
    LearningSettings,
    ModelSettings,
    PolicySettings,
    RetrievalSettings,
    RunSettings,
    Settings,
    StateSettings,
    ValueSettings,
    settings_from,
)
from engine.settings.profiles import PROFILES, differences, make_settings
from engine.settings.session import SessionConfig

__all__ = [
    "GROUPS",
    "PROFILES",
    "JudgingSettings",
    "LearningSettings",
    "ModelSettings",
    "PolicySettings",
    "RetrievalSettings",
    "RunSettings",
    "SessionConfig",
    "Settings",
    "StateSettings",
    "ValueSettings",
    "differences",
    "make_settings",
    "settings_from",
]
