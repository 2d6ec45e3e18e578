"""Estimators: where V and Q come from. One file a kind, one line here.

`base.py` says what an estimator is, and has what stands in for one that fails. `knn.py` is the paper's. All other files
are of the `graph` estimator, which plans through what is remembered. To find your way there, begin with `graph.py`;
each file uses only those above it:

    counts.py         rates with a prior, what first tries bring, answers that are kept, comparisons of sets
    text.py           how states are read as sets of tokens: all that is particular to text adventures
    preconditions.py  what actions need, and what makes that appear
    effects.py        what actions do, and what places look like
    hazards.py        where one dies, and what lifts that danger
    model.py          the model of a world: all of these together, and what persons say
    paths.py          what a plan is made for; how actions become possible, which places can be reached
    histories.py      all that was done from the beginning of episodes on, and how each went on
    trails.py         replay: remembered episodes, without what was done in vain, to be followed again
    plans.py          what a plan consists of: a route, and detours from it; the four terms of Q for each candidate
    promises.py       what could be tried where, what it promises and what it risks; what is worth fetching
    detours.py        finds what is tried on the way along a route
    planner.py        finds routes to known gains, and makes the plan
    exploration.py    plays episodes otherwise than earlier ones while there is more to gain
    explanation.py    the remembered steps that a plan repeats, for people
    graph.py          the estimator: learns from steps, has plans made, returns V and Q
    learnt.py         opens an estimator for a session, from what was kept and the episodes after that

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
    from engine.memory.view import ScopeView
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
        replayed: Whether it keeps more of a session than memory has, such as a plan. When a session is resumed, it is
            made with what memory had when the session began, and told all that happened since.
    """

    name: str
    about: str
    make: Callable[[Scope | ScopeView, Settings], Estimator]
    retrieves: bool = False
    replayed: bool = False


def _knn(memory: Scope | ScopeView, settings: Settings) -> Estimator:
    from engine.values.knn import KnnEstimator, retriever

    return KnnEstimator(retriever(memory, settings), settings)


def _graph(memory: Scope | ScopeView, settings: Settings) -> Estimator:
    from engine.values.graph import GraphEstimator
    from engine.values.learnt import open_estimator

    return open_estimator(GraphEstimator, memory, settings)


BUILT_IN = (
    EstimatorKind("knn", "nearest neighbours, the paper's", _knn, retrieves=True),
    EstimatorKind("graph", "plans through memory", _graph, replayed=True),
)
"""The estimators of this project, in the order in which they are shown."""

ESTIMATORS = Registry("estimator", EstimatorKind, "jitrl.estimators", BUILT_IN)


def make_estimator(memory: Scope | ScopeView, settings: Settings) -> Estimator:
    """Return the estimator that `settings.estimator` names, reading `memory`.

    Raises:
        UsageError: There is none of this name.
        MissingError: Neighbours are to be found by embeddings, and the package for them is not installed.
    """
    return ESTIMATORS.find(settings.estimator).make(memory, settings)
