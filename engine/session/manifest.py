"""What has to be known of a run to repeat it, and what became of the model's answers in it."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from engine.llm import prompts
from engine.records import NO_TALLY, EpisodeEnded, SessionStarted, Tally
from engine.session.account import added

PACKAGES = ("jitrl", "jericho", "litellm", "numpy", "tinydb", "xllamacpp")
"""Packages that have a part in what is chosen."""


def manifest(started: SessionStarted) -> dict[str, Any]:
    """Return settings as they were followed, what was replaced, versions, and digests of prompts and story."""
    return {
        "reading": started.reading,
        "replaced": list(started.replaced),
        "settings": dict(started.settings),
        "versions": versions(),
        "prompts": {name: prompts.digest(name) for name in prompts.NAMES},
        "story": started.environment.digest,
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that have a part in what is chosen."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "from source"
    return found


def tallied(episodes: Iterable[EpisodeEnded]) -> Tally:
    """Return the tally of several episodes."""
    whole = NO_TALLY
    for episode in episodes:
        whole = added(whole, episode.tally)
    return whole


def counts(tally: Tally) -> dict[str, int]:
    """Return a tally as JSON has it."""
    return dataclasses.asdict(tally)


def too_many_missing(tally: Tally, settings: Mapping[str, Any], model: str) -> str:
    """Return why a run cannot count as one of its model, "" if it can.

    Args:
        settings: Of the run; `max_missing` is the share of decisions that may lack a usable answer.
    """
    most = float(settings.get("max_missing", 1.0))
    if not tally.asked or tally.missing <= most * tally.asked:
        return ""
    share = tally.missing / tally.asked
    return (
        f"{model} gave no usable answer in {tally.missing} of {tally.asked} decisions ({share:.0%}, more than "
        f"max_missing={most:g}); {tally.random} of them were drawn at random, so the scores are not the model's"
    )
