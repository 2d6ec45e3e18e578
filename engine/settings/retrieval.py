"""Retrieval of the neighbours of a state, which are remembered steps."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class RetrievalSettings(SettingsGroup):
    """Retrieval of the neighbours of a state, which are remembered steps."""

    k: int = setting(10, "neighbours that are looked up for a state", 1, 1000)
    r: float = setting(0.95, "smallest Jaccard similarity of a neighbour", 0.0, 1.0)
    relax: float = setting(
        0.0, "decrease of r over the first relax_steps steps of an episode; .1 in the authors' code", 0.0, 1.0
    )
    relax_steps: int = setting(20, "steps over which r decreases by relax", 1, 1000)
    retrieval: str = setting(
        "jaccard",
        "how neighbours are found: by Jaccard similarity (Algorithm 1); by embeddings of state and history, kept if "
        "their states' Jaccard similarity is r or more (hybrid, App. E); among the nearest embeddings by Jaccard "
        "similarity (recall, the authors' code); by embeddings alone (embedding, the ablation)",
        choices=("jaccard", "hybrid", "recall", "embedding"),
    )
    embedder: str = setting(
        "wordllama", "sentence embedding: the package wordllama, or hashed letters", choices=("wordllama", "letters")
    )
    recall_pool: int = setting(
        100,
        "nearest embeddings from which recall takes its neighbours, at least (the authors' code)",
        1,
        100_000,
    )
    recall_times: int = setting(
        10,
        "nearest embeddings for each of the k neighbours that recall takes, at least",
        1,
        1000,
    )
    history_weight: float = setting(
        0.0, "weight of the history's similarity; 0 is Algorithm 1, .25 the appendix", 0.0, 1.0
    )
    keep_above: float = setting(
        0.0,
        "similarity from which more than k neighbours are kept; 0 for never, .98 in the authors' code",
        0.0,
        1.0,
    )
    ties: str = setting(
        "newest",
        "order of equally similar neighbours: newest first, or highest return first",
        choices=("newest", "return"),
    )
    task_threshold: float = setting(
        0.0,
        "similarity of states (on the web, of tasks) required before histories count",
        0.0,
        1.0,
    )
    other_tasks: str = setting(
        "literal",
        "actions remembered from other tasks on the web: word for word (the paper), or with this task's words "
        "(lifted; estimator knn)",
        choices=("literal", "lifted"),
    )
