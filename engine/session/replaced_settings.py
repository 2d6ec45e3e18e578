"""Replaces settings that cannot be followed with this model or environment. Each replacement is shown and recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import MissingError, UsageError
from engine.llm.model import takes_pictures
from engine.llm.reading import writer_check
from engine.settings import Settings
from engine.values import ESTIMATORS

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.kinds import Kind
    from engine.llm.model import Model

WRITING = "history"
"""The test of a kind of environment that says whether a model can write in words."""


def attainable(
    settings: Settings,
    model: Model,
    environment: Environment,
    cache: Path | None,
    *,
    kind: Kind,
    learns: bool,
    progress: Callable[[str], None] = lambda text: None,
) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings that can be followed with this model, and a sentence for each replaced one.

    An agent that does not learn needs no step rewards and compares no states, so no model is asked for them.

    Args:
        cache: Folder for results of the writing test.
        kind: Kind of the environment. It says what a model may be asked to write, and how that is tested.
        learns: Whether the agent stores episodes in memory.
        progress: Called with a short phrase when something slow begins.

    Raises:
        UsageError: `history=vision` in an environment without pictures.
        MissingError: The network or a key is missing.
    """
    replaced: list[str] = []

    def instead(reason: str, **changes: str) -> None:
        nonlocal settings
        for name, value in changes.items():
            replaced.append(f"{name}={value} in place of {getattr(settings, name)}: {reason}")
        settings = replace(settings, **changes)  # type: ignore[arg-type]

    if settings.history == "vision" and environment.sight is None:
        raise UsageError(
            "history=vision is for web pages: a game shows nothing; a model writes with history=llm"
        )
    if not learns:
        settings = replace(settings, rewards="score", state="rules", retrieval="jaccard")
    if settings.retrieval != "jaccard" and ESTIMATORS.find(settings.estimator).retrieves:
        from engine.memory.embeddings.embedding import open_embedder

        try:
            open_embedder()
        except MissingError as error:
            instead(str(error), retrieval="jaccard")
    if settings.history == "vision" and not takes_pictures(model):
        instead(f"{model.name} takes no pictures", history="llm")
    for spec in fields(settings):
        other = spec.metadata["unwritten"].get(getattr(settings, spec.name))
        if other and (problem := why_no_writer(model, spec.name, cache, kind, progress)):
            instead(problem, **{spec.name: other})
    if settings.history_tokens == "text" and settings.history == "rules":
        instead("rules write the histories", history_tokens="rules")
    return settings, tuple(replaced)


def why_no_writer(
    model: Model,
    name: str,
    cache: Path | None,
    kind: Kind,
    progress: Callable[[str], None] = lambda text: None,
) -> str:
    """Return why a model cannot write what is asked of it, "" if it can.

    Args:
        name: Of the kind's writing test; nothing is tested where it has none of this name.

    Raises:
        MissingError: The network or a key is missing.
    """
    if not model.reading or (model.reading == "string" and not kind.writes_small):
        return f"{model.name} writes nothing"
    tests = kind.tests()
    if name not in tests:
        return ""
    progress(f"testing whether {model.name} can write ({name})")
    return writer_check.why_not(model, tests[name], cache)
