"""What states and histories are made of."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import Group, setting


@dataclass(frozen=True)
class StateSettings(Group):
    """What states and histories are made of."""

    state: str = setting(
        "rules",
        "what a state is made of: nouns found by rules, a summary that the model writes with the paper's prompt, or "
        "the observation as it stands (raw, the authors' code)",
        choices=("rules", "llm", "raw"),
    )
    ngram: int = setting(1, "words to a token of a raw state; 4 in the authors' code", 1, 8)
    history: str = setting(
        "rules",
        "who writes the episode's history (on the web, that of the page): rules, or the model with the paper's prompt; "
        "vision shows it screenshots of the page, too",
        choices=("rules", "llm", "vision"),
    )
    history_every: int = setting(10, "steps between two histories that the model writes", 1, 1000)
    summary_steps: int = setting(60, "last steps that a model is shown to write a history", 1, 10_000)
    written_nouns: int = setting(100, "nouns that a state written by a model keeps at most", 1, 1000)
    history_tokens: str = setting(
        "rules",
        "what histories are compared by: what rules note of them, or the words of the text the model wrote",
        choices=("rules", "text"),
    )
