"""Estimators: where V and Q come from. One file a kind, one line here.

An estimator of a package of your own is an entry point in the group `jitrl.estimators` that names an `EstimatorKind`:

    [project.entry-points."jitrl.estimators"]
    latest = "latest_estimator:KIND"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.registry import Registry

if TYPE_CHECKING:
    from engine.memory.scope import Scope
    from engine.settings import Settings
    from engine.values.base import Estimator


@dataclass(frozen=True, slots=True)
class EstimatorKind:
    """A kind of estimator.

    Attributes:
        name: What `--estimator` takes.
        about: One line for people.
        make: Returns an estimator for one session, reading a memory scope.
        retrieves: Whether it asks for neighbours, so that the settings of retrieval count.
    """

    name: str
    about: str
    make: Callable[[Scope, Settings], Estimator]
    retrieves: bool = False


def _knn(memory: Scope, settings: Settings) -> Estimator:
    from engine.values.knn import KnnEstimator, retriever

    return KnnEstimator(retriever(memory, settings), settings)


def _graph(memory: Scope, settings: Settings) -> Estimator:
    from engine.values.graph import GraphEstimator

    return GraphEstimator(memory, settings)


BUILT_IN = (
    EstimatorKind("knn", "nearest neighbours, the paper's", _knn, retrieves=True),
    EstimatorKind("graph", "plans through memory", _graph),
)
"""The estimators of this project, in the order in which they are shown."""

ESTIMATORS = Registry("estimator", EstimatorKind, "jitrl.estimators", BUILT_IN)


def make_estimator(memory: Scope, settings: Settings) -> Estimator:
    """Return the estimator that `settings.estimator` names, reading `memory`.

    Raises:
        UsageError: There is none of this name.
        MissingError: Neighbours are to be found by embeddings, and the package for them is not installed.
    """
    return ESTIMATORS.find(settings.estimator).make(memory, settings)
