"""Which remembered steps are the neighbours of a state."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class RetrievalSettings(Group):
    """Which remembered steps are the neighbours of a state."""

    k: int = setting(10, "neighbours retrieved for a state (Table: retrieval neighbours)", 1, 1000)
    r: float = setting(0.95, "least Jaccard similarity of a neighbour (similarity threshold)", 0.0, 1.0)
    relax: float = setting(
        0.0, "how far r falls in the first relax_steps steps of an episode; .1 in the authors' code", 0.0, 1.0
    )
    relax_steps: int = setting(20, "steps of an episode over which r falls by relax, in equal parts", 1, 1000)
    retrieval: str = setting(
        "jaccard",
        "how neighbours are found: by Jaccard similarity (Algorithm 1); by embeddings of state and history, kept if "
        "their states' Jaccard similarity is r or more (hybrid, App. E); among the nearest embeddings by Jaccard "
        "similarity (recall, the authors' code); by embeddings alone (embedding, the ablation)",
        choices=("jaccard", "hybrid", "recall", "embedding"),
    )
    embedder: str = setting(
        "wordllama", "which sentence embedding: the package of this name", choices=("wordllama", "letters")
    )
    recall_pool: int = setting(
        100,
        "nearest embeddings from which recall takes its neighbours, at least (the authors' code)",
        1,
        100_000,
    )
    recall_times: int = setting(
        10,
        "nearest embeddings from which recall takes its neighbours, for each of the k (the authors' code)",
        1,
        1000,
    )
    history_weight: float = setting(
        0.0, "share of the history's similarity in the whole; 0 is Algorithm 1, .25 the appendix", 0.0, 1.0
    )
    keep_above: float = setting(
        0.0,
        "similarity from which neighbours are kept beyond k; 0 keeps k at most, .98 in the authors' code",
        0.0,
        1.0,
    )
    ties: str = setting(
        "newest",
        "which of equally similar neighbours comes first: the newest, or the one with the highest return",
        choices=("newest", "return"),
    )
    task_threshold: float = setting(
        0.0,
        "similarity that states must exceed before histories count: on the web, of the tasks; 0 asks for none",
        0.0,
        1.0,
    )
    other_tasks: str = setting(
        "literal",
        "what memories of other tasks on the web say: what was done, word for word (the paper), or the same with this "
        "task's words in place of theirs, and nothing where it has none (lifted; estimator knn)",
        choices=("literal", "lifted"),
    )
