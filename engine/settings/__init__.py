"""The settings: all numbers and choices that change a decision, with meaning, range and source.

Each group is a frozen class, and `Settings` has all groups together. Tables named in meanings are in the
paper's appendix on hyperparameters (Jericho).
"""

from engine.settings.evaluation import JudgingSettings
from engine.settings.methods import LearningSettings
from engine.settings.model import ModelSettings
from engine.settings.policy import PolicySettings
from engine.settings.profiles import PROFILES, differences, make_settings
from engine.settings.retrieval import RetrievalSettings
from engine.settings.run import RunSettings
from engine.settings.session import SessionConfig
from engine.settings.states import StateSettings
from engine.settings.values import ValueSettings
from engine.settings.whole import GROUPS, Settings, known

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
    "known",
    "make_settings",
]
