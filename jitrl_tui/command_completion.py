"""Completes the command line while it is typed: commands and options, and names of what is on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.paths import saves_folder
from engine.settings import PROFILES, Settings
from jitrl_tui.arguments import Parser

Names = Callable[[Path], Iterable[str]]
"""Returns the names of something; it is given the saves folder."""


def complete(parser: Parser) -> None:
    """Answer the shell and end the process."""
    import argcomplete

    _add_names(parser)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _add_names(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _add_names(inner)
            continue
        words = {action.dest, *str(action.metavar or "").replace("[", "").replace("]", "").split("|")}
        known = [NAMES[word] for word in sorted(words & {*NAMES})]
        if known:
            action.completer = _completer(known)  # type: ignore[attr-defined]


def _completer(known: list[Names]) -> Callable[..., list[str]]:
    def completer(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        saves = saves_folder(getattr(parsed_args, "saves", None))
        return [name for names in known for name in names(saves)]

    return completer


def _games(saves: Path) -> Iterable[str]:
    from engine.games.catalogue import list_games

    return [story.name for story in list_games(saves=saves)]


def _agents(_: Path) -> Iterable[str]:
    from engine.agents import AGENTS

    return AGENTS.all()


def _profiles(_: Path) -> Iterable[str]:
    return PROFILES


def _estimators(_: Path) -> Iterable[str]:
    from engine import values

    return [estimator.name for estimator in values.BUILT_IN]


def _models(_: Path) -> Iterable[str]:
    from engine.llm.listed import PRIORS
    from engine.llm.local import weights

    return [*weights.KNOWN, *PRIORS]


def _changes(_: Path) -> Iterable[str]:
    import dataclasses

    return [f"{spec.name}=" for spec in dataclasses.fields(Settings)]


def _options(_: Path) -> Iterable[str]:
    from jitrl_tui.preferences.schema import BY_NAME

    return BY_NAME


def _sessions(saves: Path) -> Iterable[str]:
    from engine.session import store

    return ["last", *(session.name for session in store.saved_sessions(saves))]


def _runs(saves: Path) -> Iterable[str]:
    from engine.bench import folder
    from engine.train.runs import runs

    return ["last", *(run.name for run in folder.runs(saves)), *(run.job.name for run in runs(saves))]


def _suites(_: Path) -> Iterable[str]:
    from engine.bench import suite

    return suite.shipped_suites()


def _races(saves: Path) -> Iterable[str]:
    from engine.session.race import saved_races

    return ["last", *saved_races(saves)]


def _themes(_: Path) -> Iterable[str]:
    from jitrl_tui.preferences.schema import THEMES

    return THEMES


NAMES: dict[str, Names] = {
    "GAME": _games, "agent": _agents, "profile": _profiles, "estimator": _estimators, "model": _models,
    "changes": _changes, "theme": _themes, "SESSION": _sessions, "RUN": _runs, "SUITE": _suites, "RACE": _races,
    "SETTING": _options,
}  # fmt: skip
"""By the metavar or the attribute of an argument, what it can be."""
