"""The common options of `watch`, `play` and `run`, and the configuration made from them."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from engine import agents, environments, values
from engine.settings import PROFILES, SessionConfig, Settings

MEMORY_HELP = "a PostgreSQL server that many share: postgresql://HOST/DATABASE#SPACE, without a password"
_NAMES = {spec.name: spec for spec in dataclasses.fields(Settings)}
_SHORT = {"estimator", "rewards", "step_limit"}
"""Settings with an option of their own. The others are set with --set NAME=VALUE."""


def add_session_options(parser: argparse.ArgumentParser, episodes: int) -> None:
    """Add the options of a session."""
    parser.add_argument(
        "game",
        metavar="GAME",
        help="; ".join(kind.about for kind in environments.BUILT_IN),
    )
    methods = ", ".join(method.name for method in agents.BUILT_IN)
    parser.add_argument("--agent", default="jitrl", help=f"who plays: {methods} (%(default)s)")
    parser.add_argument("--model", default="local/smollm2",
                        help="local/smollm2, prior/verbs, prior/uniform, any litellm name, "
                             "or two joined by + (%(default)s)")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=None, metavar="N",
                        help=f"episodes ({episodes}; of each task of a suite 5)")  # fmt: skip
    parser.set_defaults(usual_episodes=episodes)
    parser.add_argument("--steps", type=int, default=None, metavar="M",
                        help=f"steps an episode at most ({_usual('step_limit')})")  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of game and choices (%(default)s)"
    )
    parser.add_argument(
        "--profile", default="default", help=f"settings: {', '.join(PROFILES)} (%(default)s); `jitrl config` tells them"
    )
    estimators = "; ".join(f"{estimator.name}, {estimator.about}" for estimator in values.BUILT_IN)
    parser.add_argument(
        "--estimator", default=None, help=f"where V and Q come from: {estimators} ({_usual('estimator')})"
    )
    parser.add_argument(
        "--rewards",
        default=None,
        help=f"who judges the steps: score, llm, hybrid or llm_or_score ({_usual('rewards')})",
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="any setting, for instance --set beta=4 --set lam=0.3; repeatable")  # fmt: skip
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument("--fresh", action="store_true",
                        help="a memory of its own, empty at first, instead of the game's shared one")  # fmt: skip
    memory.add_argument("--memory", metavar="ADDRESS", help=f"the memory on {MEMORY_HELP}")


def session_config(args: argparse.Namespace) -> SessionConfig:
    """Return the configuration of a session from the options.

    Raises:
        UsageError: A name or value is invalid.
    """
    from engine.errors import UsageError

    kind, game = environments.resolve(args.game)
    changes = dict(change(text) for text in args.changes)
    for option, name in (("estimator", "estimator"), ("rewards", "rewards"), ("steps", "step_limit")):
        if getattr(args, option) is not None:
            changes[name] = getattr(args, option)
    try:
        settings = kind.profile(args.profile, **changes)
    except UsageError as error:
        option, _, problem = str(error).partition(" ")
        if option == "step_limit" and args.steps is not None:
            raise UsageError(f"--steps {problem}") from None
        raise
    return SessionConfig(
        game=game,
        agent=args.agent,
        model=args.model,
        episodes=args.usual_episodes if args.episodes is None else args.episodes,
        seed=args.seed,
        profile=args.profile,
        settings=settings,
        games=args.games,
        memory=address(args.memory) if args.memory is not None else "own" if args.fresh else "shared",
    )


def address(text: str) -> str:
    """Return the address of a shared memory.

    Raises:
        UsageError: It is none, or has a password in it.
    """
    from engine.settings.address import parsed_address

    parsed_address(text)
    return text


def check_game(config: SessionConfig, saves: Path) -> tuple[str, ...]:
    """Check that a game can be started; return its name, or the names of the tasks of a suite.

    Raises:
        JitrlError: There is no such game or task, or something that it needs is missing: its shared memory, too.
    """
    from engine.kinds import Places
    from engine.llm import check_name
    from engine.memory.opening import check_address
    from engine.settings.address import is_address

    if agents.AGENTS.find(config.agent).asks_model:
        check_name(config.model)
    values.ESTIMATORS.find(config.settings.estimator)
    names = environments.kind_of(config.game).ready(config.game, Places(saves, config.games))
    if is_address(config.memory):
        check_address(config.memory)
    return names


def one_game(config: SessionConfig, saves: Path) -> None:
    """Check that a single game can be started.

    Raises:
        JitrlError: As `check_game`, or the name is that of a suite.
    """
    from engine.errors import UsageError

    names = check_game(config, saves)
    if names != (config.game,):
        raise UsageError(
            f"{config.game} is a suite of {len(names)} tasks, and a screen shows one: try {names[0]}, "
            f"or play all of them with: jitrl run {config.game}"
        )


def _usual(name: str) -> str:
    """Return the value of a setting in the profile `default`, for games and for other kinds where it differs."""
    found = [(kind, getattr(kind.profile("default"), name)) for kind in environments.BUILT_IN]
    usual = found[0][1]
    return "; ".join([str(usual), *(f"{kind.name}: {value}" for kind, value in found if value != usual)])


def change(text: str) -> tuple[str, object]:
    """Return name and value of a setting from NAME=VALUE.

    Raises:
        UsageError: There is no such setting, or its value has another type.
    """
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
