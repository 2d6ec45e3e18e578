"""The common options of `watch`, `play` and `run`, and the configuration made from them."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import agents, environments, values
from engine.errors import UsageError, did_you_mean
from engine.settings import PROFILES, SessionConfig, Settings
from jitrl_tui.runs.start_checks import check_game

if TYPE_CHECKING:
    from engine.session.orders import Orders

MEMORY_HELP = "a PostgreSQL server that many share: postgresql://HOST/DATABASE#SPACE, without a password"
_NAMES = {spec.name: spec for spec in dataclasses.fields(Settings)}


def add_session_options(
    parser: argparse.ArgumentParser, episodes: int | None = None, *, optional: bool = False
) -> None:
    """Add the options of a session.

    Args:
        episodes: Usual number of episodes of the command; None for the one that the user has set.
        optional: Whether the game may be missing.
    """
    parser.add_argument(
        "game",
        nargs="?" if optional else None,
        metavar="GAME",
        help="; ".join(kind.about for kind in environments.BUILT_IN),
    )
    methods = ", ".join(method.name for method in agents.BUILT_IN)
    parser.add_argument("--agent", default=None, metavar="NAME", help=f"who plays: {methods} (default: jitrl)")
    parser.add_argument("--model", default=None, metavar="NAME",
                        help="local/smollm2, prior/verbs, prior/uniform, any litellm name, "
                             "or two joined by + (default: local/smollm2)")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=None, metavar="N",
                        help=f"episodes (default: {episodes or 50}; of each task of a suite 5)")  # fmt: skip
    parser.set_defaults(usual_episodes=episodes)
    parser.add_argument("--steps", type=int, default=None, metavar="M",
                        help=f"steps an episode at most (default: {_usual('step_limit')})")  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=None, metavar="S", help="seed of game and choices (default: 1)"
    )
    parser.add_argument(
        "--profile", default=None, metavar="NAME",
        help=f"settings to begin with: {', '.join(PROFILES)}; `jitrl config show` tells them (default: default)",
    )
    estimators = "; ".join(f"{estimator.name}, {estimator.about}" for estimator in values.BUILT_IN)
    parser.add_argument(
        "--estimator", default=None, metavar="NAME",
        help=f"where V and Q come from: {estimators} (default: {_usual('estimator')})",
    )
    parser.add_argument(
        "--rewards",
        default=None,
        metavar="NAME",
        help=f"who judges the steps: score, llm, hybrid or llm_or_score (default: {_usual('rewards')})",
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="any setting, for instance --set beta=4 --set lam=0.3; repeatable")  # fmt: skip
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument("--fresh", action="store_true",
                        help="a memory of its own, empty at first, instead of the game's shared one")  # fmt: skip
    memory.add_argument("--memory", metavar="ADDRESS", help=f"the memory on {MEMORY_HELP}")


def add_screen_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a screen that shows a run."""
    parser.add_argument("--speed", default=None, metavar="N",
                        help="steps per second; 0 for no pause between steps (default: 1)")  # fmt: skip
    parser.add_argument("--layout", default=None, metavar="NAME",
                        help="arrangement of the panes: auto, narrow, side, normal, wide (default: auto)")  # fmt: skip


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Add `--plain`."""
    parser.add_argument(
        "--plain", action="store_true", help="line by line, for screen readers, pipes and dumb terminals"
    )


def add_orders(parser: argparse.ArgumentParser, *, ask: bool) -> None:
    """Add the options that say where a session stops for a person; with `ask`, also those to be asked."""
    from engine.session.rules import KINDS

    kinds = ", ".join(written for _, written, _ in KINDS)
    if ask:
        parser.add_argument("--ask", action="append", nargs="?", const="", default=[], metavar="RULE",
                            help="ask before each step, or only where RULE of --break matches; after GAME")  # fmt: skip
    parser.add_argument("--break", action="append", default=[], metavar="RULE", dest="breaks",
                        help=f"stop where RULE matches, also in a fast-forward; repeatable: {kinds}")  # fmt: skip


def orders_of(args: argparse.Namespace) -> Orders:
    """Return the standing orders that the options of `add_orders` give.

    Raises:
        UsageError: One of them is no rule.
    """
    from engine.session.orders import ALWAYS, BREAKPOINTS, NEVER, Orders
    from engine.session.rules import parse

    asked = getattr(args, "ask", [])
    rules = dict.fromkeys(parse(text) for text in (*args.breaks, *filter(None, asked)))
    return Orders(ALWAYS if "" in asked else BREAKPOINTS if asked else NEVER, tuple(rules))


def session_config(args: argparse.Namespace) -> SessionConfig:
    """Return the configuration of a session from the options, and from what the user has set for those not typed.

    Raises:
        UsageError: A name or value is invalid, or there is a mistake in the config file.
    """
    from jitrl_tui.preferences import current

    set_before = args.preferences or current()
    set_before.refuse_mistakes()

    def chosen(name: str) -> Any:
        typed = getattr(args, name)
        return set_before.value(f"session.{name}") if typed is None else typed

    kind, game = environments.resolve(args.game)
    profile = chosen("profile")
    changes = {**set_before.settings(), **typed_settings(args)}
    try:
        settings = kind.profile(profile, **changes)
    except UsageError as error:
        option, _, problem = str(error).partition(" ")
        if option == "step_limit" and args.steps is not None:
            raise UsageError(f"--steps {problem}") from None
        raise
    return SessionConfig(
        game=game,
        agent=chosen("agent"),
        model=chosen("model"),
        episodes=args.usual_episodes if args.usual_episodes and args.episodes is None else chosen("episodes"),
        seed=chosen("seed"),
        profile=profile,
        settings=settings,
        games=args.games,
        memory=_memory(args) or set_before.value("session.memory"),
    )


def typed_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that are typed, by name: with --set, or with flags of their own."""
    typed = dict(change(text) for text in args.changes)
    for name, spec in _NAMES.items():
        option = spec.metadata["flag"].removeprefix("--")
        if option and getattr(args, option) is not None:
            typed[name] = getattr(args, option)
    return typed


def _memory(args: argparse.Namespace) -> str:
    """Return the memory that was asked for, "" if none was."""
    return address(args.memory) if args.memory is not None else "own" if args.fresh else ""


def address(text: str) -> str:
    """Return the address of a shared memory.

    Raises:
        UsageError: It is none, or has a password in it.
    """
    from engine import trust
    from engine.settings.address import parsed_address

    trust.confirm(parsed_address(text)[0])
    return text


def one_game(config: SessionConfig, saves: Path) -> None:
    """Check that a single game can be started.

    Raises:
        JitrlError: As `check_game`, or the name is that of a suite.
    """
    names = check_game(config, saves)
    if names != (config.game,):
        raise UsageError(
            f"{config.game} is a suite of {len(names)} tasks, and a screen shows one: try {names[0]}, "
            f"or play all of them with: jitrl run {shlex.quote(config.game)}"
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
    name, separator, value = text.partition("=")
    if not separator or name not in _NAMES:
        if separator and (near := did_you_mean(name, _NAMES)):
            raise UsageError(f"there is no setting {name!r}{near}")
        raise UsageError(f"--set takes NAME=VALUE with one of these names: {', '.join(sorted(_NAMES))}")
    kind: type = type(getattr(Settings(), name))
    try:
        return name, kind(value)
    except ValueError:
        raise UsageError(
            f"{name} must be a {'whole number' if kind is int else 'number'}, not {value!r}"
        ) from None
