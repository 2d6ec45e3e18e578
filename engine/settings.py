"""Every setting: meaning, unit, range, source. Profiles are named sets of them.

Tables named below are in the paper's appendix on hyperparameters (Jericho).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import UsageError


def setting(
    default: Any,
    meaning: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare one setting: its default, what it means, and what it may be (both ends included)."""
    return field(default=default, metadata={"meaning": meaning, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True, slots=True)
class Settings:
    """All that shapes how an agent decides, is judged and remembers."""

    k: int = setting(10, "neighbours retrieved for a state (Table: retrieval neighbours)", 1, 1000)
    r: float = setting(0.95, "least Jaccard similarity of a neighbour (similarity threshold)", 0.0, 1.0)
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
    history_weight: float = setting(
        0.0, "share of the history's similarity in the whole; 0 is Algorithm 1, .25 the appendix", 0.0, 1.0
    )
    relax: float = setting(
        0.0, "how far r falls by step 20 of an episode, in equal parts; .1 in the authors' code", 0.0, 1.0
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
    state: str = setting(
        "rules",
        "what a state is made of: nouns found by rules, a summary that the model writes with the paper's prompt, or "
        "the observation as it stands (raw, the authors' code)",
        choices=("rules", "llm", "raw"),
    )
    ngram: int = setting(1, "words to a token of a raw state; 4 in the authors' code", 1, 8)
    history_tokens: str = setting(
        "rules",
        "what histories are compared by: what rules note of them, or the words of the text the model wrote",
        choices=("rules", "text"),
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
    gamma: float = setting(0.5, "discount factor of returns, per step", 0.0, 1.0)
    lam: float = setting(
        0.65, "probability of optimism for an action never tried here (exploration rate)", 0.0, 1.0
    )
    alpha: float = setting(
        5.0, "optimism bonus, shared by the neighbours: alpha / |N(s)| (UCB bonus)", 0.0, 1e6
    )
    optimism: str = setting(
        "fixed",
        "probability of optimism for an untried action: lam, or less the better the tried ones are (adaptive, the "
        "authors' code for games)",
        choices=("fixed", "adaptive"),
    )
    baseline: str = setting(
        "neighbours",
        "V(s): the mean return of the neighbours, or the mean of the candidates' Q where one of them is untried "
        "(candidates, the authors' code)",
        choices=("neighbours", "candidates"),
    )
    memory_candidates: str = setting(
        "all",
        "which actions of neighbours join the candidates: all, or those with a mean return above 0",
        choices=("all", "positive"),
    )
    beta: float = setting(
        1.0, "strength of the memory: z' = z + beta * A; the paper gives no value", 0.0, 1e3
    )
    beta_growth: float = setting(
        0.0, "what beta gains over the first beta_episodes episodes; .5 in the authors' code for games", 0.0, 1e3
    )
    beta_episodes: int = setting(50, "episodes over which beta grows", 1, 1_000_000)
    normalisation: str = setting(
        "absolute",
        "advantages are divided by their largest absolute value, or by the largest one (positive, the authors' code)",
        choices=("absolute", "positive"),
    )
    epsilon: float = setting(1e-8, "keeps the normalisation of advantages from dividing by zero", 1e-12, 1e-2)
    epsilon_times: int = setting(
        1, "how often epsilon is added: once (App. E), or twice (Algorithm 1)", 1, 2
    )
    candidates: int = setting(3, "actions the model proposes, |C|", 1, 1000)
    temperature: float = setting(0.8, "sampling temperature of the model", 0.01, 10.0)
    logits: str = setting(
        "auto", "how the model's opinion is read", choices=("auto", "token", "string", "verbalized")
    )
    transform: str = setting(
        "log",
        "verbalized confidence c of k options to logit: log(c k / 100), or c / 100",
        choices=("log", "linear"),
    )
    unsaid_confidence: str = setting(
        "mean",
        "what a confidence that the model left out counts as: the mean of the others, or 50",
        choices=("mean", "fifty"),
    )
    unremembered: str = setting(
        "policy",
        "what is done where nothing is remembered: an action of the policy as always, or what the model called best",
        choices=("policy", "best_action"),
    )
    recent_steps: int = setting(20, "last steps that a prompt tells: observation, action, reward", 0, 1000)
    prompt_tokens: int = setting(
        12_000, "tokens of a prompt to a model behind an API at most; the oldest is left out first", 500, 10**7
    )
    threads: int = setting(0, "threads of a local model; 0 is all cores but one", 0, 256)
    deadline_s: float = setting(
        120.0, "seconds a decision may wait for its model, all calls and reading their replies included", 1.0, 3600.0
    )
    patience_minutes: float = setting(
        10.0, "minutes to go on trying where a model's server is overloaded or limits calls (429, 503)", 0.0, 1e5
    )
    max_missing: float = setting(
        0.1,
        "share of decisions without a usable answer of the model above which a run without a screen counts as failed",
        0.0,
        1.0,
    )
    budget_usd: float = setting(0.0, "US dollars a session may spend on models; 0 is no limit", 0.0, 1e6)
    budget_tokens: int = setting(0, "model tokens a session may use, in and out; 0 is no limit", 0, 10**12)
    budget_minutes: float = setting(0.0, "minutes a session may wait for models; 0 is no limit", 0.0, 1e6)
    requests_per_minute: float = setting(
        0.0, "calls a minute to one model, all sessions together; 0 is no limit", 0.0, 1e5
    )
    domain: str = setting(
        "game",
        "which of the paper's prompts and judges: text adventures, or web pages",
        choices=("game", "web"),
    )
    estimator: str = setting("knn", "where V and Q come from", choices=("knn", "graph"))
    selection: str = setting(
        "sample",
        "how z' becomes an action: a sample of its softmax, or its maximum",
        choices=("sample", "greedy"),
    )
    prior_weight: float = setting(
        0.5,
        "how much the model's logits tell the graph estimator which untried actions promise more",
        0.0,
        10.0,
    )
    mixture: float = setting(
        0.5, "weight of the first of two models joined by +; the rest is the second one's", 0.0, 1.0
    )
    curiosity: float = setting(
        1.0, "what discoveries are worth to the graph estimator; 0 repeats what is known", 0.0, 100.0
    )
    settling: float = setting(
        0.0,
        "share of a run's episodes, at its end, over which curiosity fades: there is less and less left to use "
        "discoveries for",
        0.0,
        1.0,
    )
    rewards: str = setting(
        "score",
        "who judges the steps of an episode: the environment's score; the model (llm, the paper); both, the "
        "environment having the last word (hybrid); or the model, and the score where it said 0 (llm_or_score, the "
        "authors' code)",
        choices=("score", "llm", "hybrid", "llm_or_score"),
    )
    reward_scale: float = setting(
        20.0, "largest step reward that the model may give in games; 10 in the authors' code", 0.1, 1e6
    )
    zero_rewards: str = setting(
        "zero",
        "what a later reward of 0 counts as in a return: 0 (Eq. 3), or the reward of the step itself (own, the "
        "authors' code)",
        choices=("zero", "own"),
    )
    fuzzy: str = setting(
        "off",
        "who compares answers on the web that only meaning can tell (fuzzy_match): nobody, or the model",
        choices=("off", "model"),
    )
    history: str = setting(
        "rules",
        "who writes the episode's history (on the web, that of the page): rules, or the model with the paper's prompt; "
        "vision shows it screenshots of the page, too",
        choices=("rules", "llm", "vision"),
    )
    history_every: int = setting(10, "steps between two histories that the model writes", 1, 1000)
    death_penalty: float = setting(-10.0, "reward added to the step that ended the game badly", -1e6, 0.0)
    idle_penalty: float = setting(-0.5, "reward added to a step that did not change the world", -1e6, 0.0)
    step_limit: int = setting(60, "steps of an episode at most", 1, 100_000)

    def __post_init__(self) -> None:
        """Refuse what is out of range, in one sentence."""
        for spec in dataclasses.fields(self):
            value, meta = getattr(self, spec.name), spec.metadata
            if meta["choices"]:
                if value not in meta["choices"]:
                    raise UsageError(
                        f"{spec.name} cannot be {value!r}; choose one of: {', '.join(meta['choices'])}"
                    )
            elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise UsageError(f"{spec.name} must be a number, not {value!r}")
            elif not meta["low"] <= value <= meta["high"]:
                raise UsageError(
                    f"{spec.name} must lie between {meta['low']} and {meta['high']}, not {value}"
                )


DOMAINS = ("game", "web")

_WEB_TABLE: Mapping[str, Any] = {
    "domain": "web", "gamma": 0.1, "lam": 0.05, "r": 0.8, "history_weight": 0.7, "task_threshold": 0.27,
    "step_limit": 10,
}  # fmt: skip
"""The paper's table of hyperparameters for WebArena."""

_PAPER: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "sample", "rewards": "llm", "history": "llm",
    "epsilon_times": 1, "beta": 1.2,
}  # fmt: skip

_REFERENCE: Mapping[str, Any] = {
    "logits": "verbalized", "transform": "linear", "selection": "greedy", "unsaid_confidence": "fifty",
    "unremembered": "best_action", "alpha": 1.0, "beta": 1.0, "baseline": "candidates",
    "normalisation": "positive", "zero_rewards": "own", "relax": 0.1,
}  # fmt: skip

PROFILES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "default": {
        "game": {"estimator": "graph", "selection": "greedy", "beta": 20.0, "curiosity": 3.0, "settling": 0.2},
        "web": {
            **_WEB_TABLE, "other_tasks": "lifted", "rewards": "hybrid", "transform": "linear", "selection": "greedy",
        },
    },
    "paper": {
        "game": {**_PAPER, "retrieval": "hybrid", "history_weight": 0.25, "state": "llm", "history_every": 1},
        "web": {**_WEB_TABLE, **_PAPER, "beta": 1.23, "history": "vision"},
    },
    "reference": {
        "game": {
            **_REFERENCE, "retrieval": "recall", "state": "raw", "ngram": 4, "history_tokens": "text",
            "history_weight": 0.3, "history": "llm", "history_every": 1, "keep_above": 0.98, "ties": "return",
            "optimism": "adaptive", "memory_candidates": "positive", "beta_growth": 0.5, "rewards": "llm_or_score",
            "reward_scale": 10.0,
        },
        "web": {**_WEB_TABLE, **_REFERENCE, "history": "vision", "rewards": "llm", "k": 1000},
    },
    "unified": {
        "game": {**_PAPER, "history_weight": 0.25, "state": "llm", "history_every": 1},
        "web": {**_WEB_TABLE, **_PAPER, "history_weight": 0.25, "task_threshold": 0.0, "history": "llm"},
    },
}  # fmt: skip
"""Differences from the defaults above, by name and by kind of environment.

- `default` learns best with a small model or none: values by planning through memory, the most probable action taken.
- `paper` is the paper's method with a model that writes and judges. Where the paper leaves a choice open,
  docs/paper.md says which one was made.
- `reference` is what the authors' published code does where it differs from the paper.
- `unified` is one pipeline for games and the web: Algorithm 1's own retrieval, with the numbers of the two tables.
"""


def profile(name: str, kind: str = "game", /, **changes: Any) -> Settings:
    """Return the settings of a profile with `changes` on top.

    Args:
        kind: Kind of environment, one of `DOMAINS`.

    Raises:
        UsageError: No such profile or setting, or a value out of range.
    """
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; choose one of: {', '.join(PROFILES)}")
    known = {spec.name for spec in dataclasses.fields(Settings)}
    for key in changes:
        if key not in known:
            raise UsageError(f"there is no setting {key!r}; the settings are: {', '.join(sorted(known))}")
    return Settings(**{**PROFILES[name][kind], **changes})


def differences(one: Settings, other: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, each with its two values."""
    return {
        spec.name: (a, b)
        for spec in dataclasses.fields(Settings)
        if (a := getattr(one, spec.name)) != (b := getattr(other, spec.name))
    }


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """One run of episodes: what is played, by whom, how long.

    Attributes:
        game: Catalogue name or path of a story.
        games: Folder with more stories, None for the usual places.
        agent: Name in `engine.agents`.
        model: litellm's name, `local/...`, or `prior/uniform`.
        memory: "shared" (one for each game, under saves/memory), "own" (empty at first, kept with the session), or
            "own:NAME" (that of the session NAME).
    """

    game: str
    agent: str = "jitrl"
    model: str = "local/smollm2"
    episodes: int = 50
    seed: int = 1
    profile: str = "default"
    settings: Settings = field(default_factory=Settings)
    games: str | None = None
    memory: str = "shared"

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if self.episodes < 1:
            raise UsageError(f"episodes must be at least 1, not {self.episodes}")
        owner = self.memory.removeprefix("own:")
        if self.memory not in ("shared", "own") and (owner == self.memory or not owner or "/" in owner):
            raise UsageError(f"memory must be 'shared', 'own' or 'own:SESSION', not {self.memory!r}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must lie between 0 and {2**31 - 1}, not {self.seed}")
