"""How the model is asked, how logits are obtained from it, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class ModelSettings(SettingsGroup):
    """How the model is asked, how logits are obtained from it, and what it may cost."""

    logits: str = setting(
        "auto", "how logits are obtained from the model", choices=("auto", "token", "string", "verbalized")
    )
    transform: str = setting(
        "log",
        "logit of a verbalized confidence c among k options: log(c k / 100), or c / 100",
        choices=("log", "linear"),
    )
    unsaid_confidence: str = setting(
        "mean",
        "value of a confidence that the model left out: the mean of the others, or 50",
        choices=("mean", "fifty"),
    )
    confidences: str = setting(
        "shares",
        "example of confidences in the prompt: equal shares of 100; 50 for each (fifty, the paper's for games); or "
        "80 for each, with the demand that they differ (differing, the authors' code for games)",
        choices=("shares", "fifty", "differing"),
    )
    index_options: int = setting(
        9, "largest number of options for one index token; some tokenizers split longer numbers", 2, 20
    )
    length_penalty: float = setting(
        0.75,
        "exponent a of log-likelihood / length^a for the reading string: 0 is the sum, 1 the mean",
        0.0,
        1.0,
    )
    softening: float = setting(
        1.9,
        "factor by which likelihoods are flattened besides temperature",
        0.1,
        100.0,
    )
    temperature: float = setting(0.8, "sampling temperature of the model", 0.01, 10.0)
    recent_steps: int = setting(20, "last steps in a prompt", 0, 1000)
    prompt_tokens: int = setting(
        12_000,
        "tokens of a prompt to a model behind an API, at most; the oldest text is left out first",
        500,
        10**7,
    )
    reply_tokens: int = setting(4096, "largest number of tokens of an answer", 16, 10**6)
    listed_actions: int = setting(
        120, "valid actions that a JSON schema lists, at most", 0, 10_000
    )
    listed_characters: int = setting(
        3500, "characters of the valid actions that a JSON schema lists, at most", 0, 10**6
    )
    attempts: int = setting(4, "attempts of a call to a model that fails for a temporary reason", 1, 100)
    mixture: float = setting(
        0.5, "weight of the first of two models joined by +; the second one has the rest", 0.0, 1.0
    )
    threads: int = setting(0, "threads of a local model; 0 for all cores but one", 0, 256)
    deadline_s: float = setting(
        120.0,
        "seconds that a decision may wait for its model",
        1.0,
        3600.0,
    )
    patience_minutes: float = setting(
        10.0,
        "minutes to retry a call if the model's server is overloaded or limits calls (429, 503)",
        0.0,
        1e5,
    )
    requests_per_minute: float = setting(
        0.0, "calls per minute to one model from all sessions together; 0 for no limit", 0.0, 1e5
    )
    budget_usd: float = setting(0.0, "US dollars that a session may spend on models; 0 for no limit", 0.0, 1e6)
    budget_tokens: int = setting(0, "model tokens that a session may use, input plus output; 0 for no limit", 0, 10**12)
    budget_minutes: float = setting(0.0, "minutes that a session may wait for models; 0 for no limit", 0.0, 1e6)
