"""All settings in one record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.settings.evaluation import JudgingSettings
from engine.settings.methods import LearningSettings
from engine.settings.model import ModelSettings
from engine.settings.policy import PolicySettings
from engine.settings.retrieval import RetrievalSettings
from engine.settings.run import RunSettings
from engine.settings.states import StateSettings
from engine.settings.values import ValueSettings


# A dataclass has the fields of its last base first, so the group to show first is the last base.
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
    """All settings together.

    Names are unique over all groups, so a function can take all settings and declare which group it reads.
    """


def known(values: Mapping[str, Any]) -> Settings:
    """Return settings with these values. Names of other versions are passed over; what is not named has its default.

    Raises:
        UsageError: A value is out of range.
    """
    names = {spec.name for spec in dataclasses.fields(Settings)}
    return Settings(**{name: value for name, value in values.items() if name in names})


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
"""The groups in the order of display."""
