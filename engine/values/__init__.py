"""Where V and Q come from."""

from __future__ import annotations

from engine.settings import Settings
from engine.values.base import Estimator
from engine.values.graph import EpisodicMemory, GraphEstimator
from engine.values.knn import KnnEstimator, retriever


def make_estimator(memory: EpisodicMemory, settings: Settings) -> Estimator:
    """Return the estimator that `settings.estimator` names, reading `memory`.

    Raises:
        MissingError: Neighbours are to be found by embeddings, and the package for them is not installed.
    """
    if settings.estimator == "graph":
        return GraphEstimator(memory, settings)
    return KnnEstimator(retriever(memory, settings), settings)
