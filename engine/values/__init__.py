"""Where V and Q come from."""

from __future__ import annotations

from engine.settings import Settings
from engine.values.base import Estimator
from engine.values.knn import KnnEstimator, Retriever


def make_estimator(memory: Retriever, settings: Settings) -> Estimator:
    """Return the estimator that `settings.estimator` names, reading `memory`."""
    return KnnEstimator(memory, settings)
