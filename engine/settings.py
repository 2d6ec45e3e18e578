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
    history_weight: float = setting(
        0.0, "share of the history's similarity in the whole; 0 is Algorithm 1, .25 the appendix", 0.0, 1.0
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
    beta: float = setting(
        1.0, "strength of the memory: z' = z + beta * A; the paper gives no value", 0.0, 1e3
    )
    epsilon: float = setting(1e-8, "keeps the normalisation of advantages from dividing by zero", 1e-12, 1e-2)
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
    threads: int = setting(0, "threads of a local model; 0 is all cores but one", 0, 256)
    deadline_s: float = setting(120.0, "seconds after which a model call is given up", 1.0, 3600.0)
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
    rewards: str = setting("score", "who judges the steps of an episode", choices=("score", "llm", "hybrid"))
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


PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {"estimator": "graph", "selection": "greedy", "beta": 20.0, "curiosity": 3.0, "settling": 0.2},
    "paper": {},
    "web": {
        "domain": "web", "gamma": 0.1, "lam": 0.05, "r": 0.8, "history_weight": 0.7, "task_threshold": 0.27,
        "other_tasks": "lifted", "rewards": "hybrid", "transform": "linear", "selection": "greedy", "step_limit": 10,
    },
}  # fmt: skip
"""Differences from the defaults above, which are the paper's for text adventures. `default` is what learns best with a
small model or none: values by planning through memory, the most probable action taken. `web` are the paper's values
for web pages (appendix, WebArena), with logits as its case study shows them (Table 5); `web:...` names have it. Its
`other_tasks` is ours: the paper's is literal.
"""


def profile(name: str, **changes: Any) -> Settings:
    """Return the settings of a profile with `changes` on top.

    Raises:
        UsageError: No such profile or setting, or a value out of range.
    """
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; choose one of: {', '.join(PROFILES)}")
    known = {spec.name for spec in dataclasses.fields(Settings)}
    for key in changes:
        if key not in known:
            raise UsageError(f"there is no setting {key!r}; the settings are: {', '.join(sorted(known))}")
    return Settings(**{**PROFILES[name], **changes})


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
        if not 0 < self.seed < 2**31:
            raise UsageError(f"seed must lie between 1 and {2**31 - 1}, not {self.seed}")
