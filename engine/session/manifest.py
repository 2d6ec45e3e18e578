"""The manifest of a run, which has what is needed to repeat it, and the counts of the model's answers."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.agents import AGENTS
from engine.environments import kind_of_scope
from engine.paths import code_digest
from engine.records import NO_TALLY, EpisodeEnded, SessionStarted, Tally
from engine.session.account import add_tallies
from engine.session.shared import manifest_of_shared

PACKAGES = ("jitrl", "jericho", "litellm", "numpy", "tinydb", "xllamacpp")
"""Packages whose version can affect decisions."""


def manifest(started: SessionStarted, others: int = 0) -> dict[str, Any]:
    """Return the settings in effect, replaced settings, versions, and digests of code, prompts and story.

    Args:
        started: The beginning of the run.
        others: Number of episodes that other sessions stored in its memory while it ran.
    """
    return {
        "experience": manifest_of_shared(started, others),
        "reading": started.reading,
        "replaced": list(started.replaced),
        "settings": dict(started.settings),
        "versions": versions(),
        "code": code(),
        "prompts": prompts(started),
        "story": started.environment.digest,
    }


def prompts(started: SessionStarted) -> dict[str, str]:
    """Return the digests of the prompts of the environment, and of those of the agent under AGENT/NAME."""
    kind, method = kind_of_scope(started.environment.scope), AGENTS.all().get(started.agent)
    folders = [("", kind.asking().prompts)] if kind is not None else []
    folders += [(f"{method.name}/", folder) for folder in method.prompts] if method is not None else []
    return {whose + name: folder.digest(name) for whose, folder in folders for name in folder.names}


def code() -> dict[str, str]:
    """Return the first 12 digits of a SHA-256 for each folder of the engine.

    Two runs with the same digests used the same code, with the same tables and limits that are not settings.
    """
    root = Path(__file__).parents[1]
    found: dict[str, str] = {}
    for folder in sorted(path for path in root.iterdir() if (path / "__init__.py").is_file()):
        found[folder.name] = code_digest(folder)[:12]
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can affect decisions."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "from source"
    return found


def sum_tallies(episodes: Iterable[EpisodeEnded]) -> Tally:
    """Return the sum of the tallies of several episodes."""
    whole = NO_TALLY
    for episode in episodes:
        whole = add_tallies(whole, episode.tally)
    return whole


def counts(tally: Tally) -> dict[str, int]:
    """Return a tally as JSON values."""
    return dataclasses.asdict(tally)


def too_many_missing(tally: Tally, settings: Mapping[str, Any], model: str) -> str:
    """Return why a run is no valid measurement of its model, "" if it is one.

    Args:
        settings: Settings of the run; `max_missing` is the share of decisions that may lack a usable answer.
    """
    most = float(settings.get("max_missing", 1.0))
    if not tally.asked or tally.missing <= most * tally.asked:
        return ""
    share = tally.missing / tally.asked
    return (
        f"{model} gave no usable answer in {tally.missing} of {tally.asked} decisions ({share:.0%}, more than "
        f"max_missing={most:g}); {tally.random} of them were drawn at random, so the scores are not the model's"
    )


def too_many_failed(episodes: Iterable[EpisodeEnded], settings: Mapping[str, Any], game: str) -> str:
    """Return why a run is no valid measurement because its environment failed too often, "" if it is one.

    Args:
        settings: Settings of the run; `max_failed` is the share of actions at which the environment may fail.
    """
    most = float(settings.get("max_failed", 1.0))
    failed = tried = 0
    for episode in episodes:
        failed += episode.failed
        tried += episode.steps + (episode.ended_by == "failure")
    if failed <= most * tried:
        return ""
    return (
        f"{game} failed at {failed:,} of {tried:,} actions ({failed / tried:.0%}, more than max_failed={most:g}), so "
        "the scores are not the agent's"
    )
