"""How states and histories are made."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings.spec import SettingsGroup, setting


@dataclass(frozen=True)
class StateSettings(SettingsGroup):
    """How states and histories are made."""

    state: str = setting(
        "rules",
        "text of a state: nouns found by rules, a summary by the model (the paper), or the observation (raw, the "
        "authors' code)",
        choices=("rules", "llm", "raw"),
    )
    ngram: int = setting(1, "number of words per token of a raw state; 4 in the authors' code", 1, 8)
    history: str = setting(
        "rules",
        "what writes the history of the episode (on the web, of the page): rules, or the model; vision shows it "
        "screenshots, too",
        choices=("rules", "llm", "vision"),
    )
    history_every: int = setting(10, "steps between two histories that the model writes", 1, 1000)
    summary_temperature: float = setting(
        0.0,
        "temperature at which the model writes states and histories; .3 in the authors' code on the web",
        0.0,
        10.0,
    )
    summary_steps: int = setting(60, "last steps shown to a model that writes a history", 1, 10_000)
    page_query: str = setting(
        "kept",
        "the query of a page's URL: part of the state (kept), or not (dropped, the authors' code)",
        choices=("kept", "dropped"),
    )
    written_nouns: int = setting(100, "largest number of nouns in a state written by a model", 1, 1000)
    history_tokens: str = setting(
        "rules",
        "tokens of histories: those of the rules, or the words of the model's text",
        choices=("rules", "text"),
    )
