"""Options that `watch`, `play` and `run` share, and the configuration they make."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path

from engine.settings import PROFILES, SessionConfig, Settings, profile

_NAMES = {spec.name: spec for spec in dataclasses.fields(Settings)}
_SHORT = {"estimator", "rewards", "step_limit"}
"""Settings that have an option of their own; the rest are set with --set NAME=VALUE."""


def add_session_options(parser: argparse.ArgumentParser, episodes: int) -> None:
    """Add what shapes a session."""
    parser.add_argument(
        "game",
        metavar="GAME",
        help="a name from `jitrl games ls`, the path of a story, web:TASK with one of `jitrl web ls`, "
        "browsergym:TASK, or gym:PACKAGE/ENV with a text environment of Gymnasium",
    )
    parser.add_argument("--agent", default="jitrl", help="who plays: jitrl, static or random (%(default)s)")
    parser.add_argument("--model", default="local/smollm2",
                        help="local/smollm2, prior/verbs, prior/uniform, any litellm name, "
                             "or two joined by + (%(default)s)")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=None, metavar="N",
                        help=f"episodes ({episodes}; of each task of a suite of web tasks 5)")  # fmt: skip
    parser.set_defaults(usual_episodes=episodes)
    parser.add_argument("--steps", type=int, default=None, metavar="M",
                        help="steps an episode at most (60; on the web 10)")  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of game and choices (%(default)s)"
    )
    parser.add_argument(
        "--profile", default="default", help=f"settings: {', '.join(PROFILES)} (%(default)s); `jitrl config` tells them"
    )
    parser.add_argument("--estimator", default=None, help="where V and Q come from: knn (the paper's) or graph")
    parser.add_argument(
        "--rewards",
        default=None,
        help="who judges the steps: score, llm, hybrid or llm_or_score (score; on the web hybrid)",
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="any setting, for instance --set beta=4 --set lam=0.3; repeatable")  # fmt: skip
    parser.add_argument("--fresh", action="store_true",
                        help="a memory of its own, empty at first, instead of the game's shared one")  # fmt: skip


def session_config(args: argparse.Namespace) -> SessionConfig:
    """Return the configuration that the options ask for.

    Raises:
        UsageError: A name or value that cannot be.
    """
    if args.game.startswith("browsergym:"):
        args.game = f"web:browsergym-{args.game.removeprefix('browsergym:')}"
    changes = dict(_change(text) for text in args.changes)
    for option, name in (("estimator", "estimator"), ("rewards", "rewards"), ("steps", "step_limit")):
        if getattr(args, option) is not None:
            changes[name] = getattr(args, option)
    kind = "web" if _is_web(args.game) else "game"
    return SessionConfig(
        game=args.game,
        agent=args.agent,
        model=args.model,
        episodes=args.usual_episodes if args.episodes is None else args.episodes,
        seed=args.seed,
        profile=args.profile,
        settings=profile(args.profile, kind, **changes),
        games=args.games,
        memory="own" if args.fresh else "shared",
    )


def check_game(config: SessionConfig, saves: Path) -> tuple[str, ...]:
    """Refuse what cannot be begun; return the game, or the tasks of a suite of web tasks.

    Raises:
        JitrlError: There is no such game or task, or something it needs is missing.
    """
    from engine.agents import find_method

    find_method(config.agent)
    if _is_web(config.game):
        from engine.web.opening import ready

        return ready(config.game, saves, os.environ)
    if config.game.startswith("gym:"):  # HOOK gym: to be replaced by the registry of environments
        from engine import gym

        gym.check(config.game, saves, os.environ)
        return (config.game,)
    from engine.games.catalogue import find_game

    find_game(config.game, games=config.games, saves=saves)
    return (config.game,)


def one_game(config: SessionConfig, saves: Path) -> None:
    """Refuse what `check_game` refuses, and suites.

    Raises:
        JitrlError: See there.
    """
    from engine.errors import UsageError

    names = check_game(config, saves)
    if names != (config.game,):
        raise UsageError(
            f"{config.game} is a suite of {len(names)} tasks, and a screen shows one: try {names[0]}, "
            f"or play all of them with: jitrl run {config.game}"
        )


def _is_web(game: str) -> bool:
    return game.startswith("web:")


def _change(text: str) -> tuple[str, object]:
    from engine.errors import UsageError

    name, separator, value = text.partition("=")
    if not separator or name not in _NAMES:
        raise UsageError(f"--set takes NAME=VALUE with one of these names: {', '.join(sorted(_NAMES))}")
    kind = type(_NAMES[name].default)
    try:
        return name, kind(value)
    except ValueError:
        raise UsageError(
            f"{name} must be a {'whole number' if kind is int else 'number'}, not {value!r}"
        ) from None
