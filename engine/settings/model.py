"""How the model is asked and read, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class ModelSettings(Group):
    """How the model is asked and read, and what it may cost."""

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
    index_options: int = setting(
        9, "options told apart by one index token at most; several tokenizers split longer numbers", 2, 20
    )
    length_penalty: float = setting(
        0.75,
        "exponent a of log-likelihood / length^a where actions are scored: 0 is the sum, 1 the mean",
        0.0,
        1.0,
    )
    softening: float = setting(
        1.9,
        "how much flatter likelihoods are made than temperature says; small models are overconfident",
        0.1,
        100.0,
    )
    temperature: float = setting(0.8, "sampling temperature of the model", 0.01, 10.0)
    recent_steps: int = setting(20, "last steps that a prompt tells: observation, action, reward", 0, 1000)
    prompt_tokens: int = setting(
        12_000,
        "tokens of a prompt to a model behind an API at most; the oldest is left out first",
        500,
        10**7,
    )
    reply_tokens: int = setting(4096, "tokens of an answer at most", 16, 10**6)
    listed_actions: int = setting(
        120, "valid actions up to which a JSON schema lists them; servers limit such lists", 0, 10_000
    )
    listed_characters: int = setting(
        3500, "characters of all valid actions up to which a JSON schema lists them", 0, 10**6
    )
    attempts: int = setting(4, "tries of a call to a model that fails for no lasting reason", 1, 100)
    mixture: float = setting(
        0.5, "weight of the first of two models joined by +; the rest is the second one's", 0.0, 1.0
    )
    threads: int = setting(0, "threads of a local model; 0 is all cores but one", 0, 256)
    deadline_s: float = setting(
        120.0,
        "seconds a decision may wait for its model, all calls and reading their replies included",
        1.0,
        3600.0,
    )
    patience_minutes: float = setting(
        10.0,
        "minutes to go on trying where a model's server is overloaded or limits calls (429, 503)",
        0.0,
        1e5,
    )
    requests_per_minute: float = setting(
        0.0, "calls a minute to one model, all sessions together; 0 is no limit", 0.0, 1e5
    )
    budget_usd: float = setting(0.0, "US dollars a session may spend on models; 0 is no limit", 0.0, 1e6)
    budget_tokens: int = setting(0, "model tokens a session may use, in and out; 0 is no limit", 0, 10**12)
    budget_minutes: float = setting(0.0, "minutes a session may wait for models; 0 is no limit", 0.0, 1e6)
