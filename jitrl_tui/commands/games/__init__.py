"""`jitrl games`: lists the games that can be played, and gets more."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from engine.disk import printable, read_bytes
from engine.errors import FailingAs, UsageError
from engine.paths import ensure_folder, saves_folder
from engine.settings import Settings
from jitrl_tui.commands.games.make import register_make, register_map
from jitrl_tui.system.output import note


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("games", parents=[common], help="list, fetch, add and check games")
    parser.set_defaults(handler=lambda args: list_all(argparse.Namespace(**{**vars(args), "json": False})))
    actions = parser.add_subparsers(metavar="ACTION")

    ls = actions.add_parser("ls", parents=[common], help="list the games that can be played")
    ls.add_argument("--json", action="store_true", help="a list on stdout")
    ls.set_defaults(handler=list_all)

    info = actions.add_parser("info", parents=[common], help="all that is known about one game")
    info.add_argument("game", metavar="GAME")
    info.add_argument("--json", action="store_true", help="an object on stdout")
    info.set_defaults(handler=show)

    fetch = actions.add_parser("fetch", parents=[common], help="get the MIT-licensed Zork I and III")
    fetch.add_argument("names", metavar="NAME", nargs="+", help="zork1, zork3")
    fetch.add_argument("--from", dest="base", metavar="URL", help="another place that holds the releases")
    fetch.set_defaults(handler=get)

    add = actions.add_parser("add", parents=[common], help="copy a story of yours to where jitrl finds it")
    add.add_argument("files", metavar="FILE", nargs="+", type=Path)
    add.set_defaults(handler=put)

    register_make(actions, common)
    register_map(actions, common)

    verify = actions.add_parser(
        "verify", parents=[common], help="play a solution, and say where play parts from Jericho's own environment"
    )
    verify.add_argument("game", metavar="GAME")
    verify.add_argument(
        "--solution", type=Path, metavar="FILE", help="its commands, in lines or as JSON (default: the known solution)"
    )
    verify.set_defaults(handler=check)


def list_all(args: argparse.Namespace) -> int:
    """Print all games."""
    from engine.games.catalogue import known_solution, list_games, with_facts

    stories = [with_facts(story) for story in list_games(games=args.games, saves=saves_folder(args.saves))]
    if args.json:
        print(json.dumps([_plain(story) for story in stories], indent=1))
        return 0
    rows = [("NAME", "TITLE", "MAX", "SUPPORT", "SOLUTION", "LICENCE", "FROM")]
    rows += [
        (
            story.name,
            story.title,
            "?" if story.max_score is None else f"{story.max_score:g}",
            "full" if story.supported else "plays",
            "no" if known_solution(story) is None else "known",
            story.licence or "unknown",
            story.origin,
        )
        for story in stories
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    note("What each is about, and what is supported how: jitrl games info NAME")
    if not any(story.name == "zork1" for story in stories):
        note("More: jitrl games fetch zork1 zork3, or --games DIR with stories of yours")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print one game."""
    from engine.games.catalogue import find_game
    from engine.games.env import GameEnvironment

    story = find_game(args.game, games=args.games, saves=saves_folder(args.saves))
    environment = GameEnvironment(story)
    environment.limit = Settings().valid_commands or None
    try:
        first = environment.reset(1)
        actions = list(environment.valid_actions())
        plain = {
            **_plain(story),
            "title": environment.info.title,
            "max_score": first.max_score,
            "first_place": first.place,
            "support": _support(story, first.max_score, environment.scored, actions),
            "valid_actions": actions,
        }
    finally:
        environment.close()
    if args.json:
        print(json.dumps(plain, indent=1))
    else:
        for key, value in plain.items():
            if isinstance(value, dict):
                print(f"{key}:", *(f"  {part + ':':<14} {text}" for part, text in value.items()), sep="\n")
            elif value not in ("", None, []):
                print(f"{key.replace('_', ' ') + ':':<16} {_in_words(value)}")
    return 0


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _support(story: Any, maximum: float | None, scored: bool, actions: list[str]) -> dict[str, str]:
    """Return facts about a story and their sources, in words."""
    how = "known" if story.supported else "read from the story" if scored else "unknown"
    return {
        "place": "known",
        "score": how if scored else "unknown: the story keeps none where it could be read",
        "moves": how if scored else "counted by jitrl",
        "maximum": "known" if story.supported else "unknown" if maximum is None else "as the story says",
        "end": "known" if story.supported else "when the story prints it, as in *** You have died ***",
        "valid actions": "found by trying what the story's grammar allows" if actions
        else "none found; commands are typed freely, and whether one changed the world is told",
    }  # fmt: skip


def get(args: argparse.Namespace) -> int:
    """Download releases."""
    from engine.games.fetch import BASE, fetch

    for name in args.names:
        fetch(name, saves_folder(args.saves), note, args.base or BASE)
    return 0


def put(args: argparse.Namespace) -> int:
    """Copy stories and their additional files into the saves folder."""
    from engine.games.catalogue import kept_name, read_story, walkthrough_of
    from engine.games.fetch import keep

    folder = ensure_folder(saves_folder(args.saves) / "games", private=False)
    for file in args.files:
        if not file.exists():
            raise UsageError(f"there is no file {printable(file)}")
        story = read_story(file)
        if story.shipped:
            note(f"{printable(file)} comes with jitrl as {story.name}")
            continue
        kept = folder / kept_name(file)
        with FailingAs(UsageError, f"cannot add {printable(file)}"):
            keep(read_bytes(file), kept)
        besides = {story.metadata: kept.with_suffix(".json"), walkthrough_of(file): walkthrough_of(kept)}
        for beside, target in besides.items():
            if beside is not None and beside.is_file():
                shutil.copyfile(beside, target)
        name = read_story(kept).name
        note(f"{name} is ready: jitrl watch {shlex.quote(name)}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Play a solution here and in Jericho's own environment; return 1 if they part.

    It also returns 1 if points are missing in a story that Jericho does not list.
    """
    from engine.games.alongside import difference, jericho_plays
    from engine.games.catalogue import commands_in, find_game, known_solution
    from engine.games.env import GameEnvironment, sanitise

    story = find_game(args.game, games=args.games, saves=saves_folder(args.saves))
    solution = known_solution(story)
    if args.solution is not None:
        solution = (solution[0] if solution else 1, commands_in(args.solution))
    if solution is None:
        raise UsageError(f"no solution of {story.name} is known; name a file of commands with --solution FILE")
    seed, commands = solution
    theirs = jericho_plays(story, seed, [sanitise(command) for command in commands]) if story.supported else []
    parted, steps = "", 0
    environment = GameEnvironment(story)
    try:
        seen = environment.reset(seed)
        best = seen.score
        for steps, command in enumerate(commands, 1):
            seen = environment.step(command)
            best = max(best, seen.score)
            if theirs and not parted and (what := difference(seen, theirs[steps])):
                parted = f"parts from Jericho's environment at step {steps}, {shlex.quote(command)}: {what}"
            if seen.over or parted:
                break
    finally:
        environment.close()
    if parted:
        print(f"{story.name}: {parted}")
        return 1
    end = f", {seen.outcome}" if seen.outcome else ""
    if theirs:
        print(f"{story.name}: in step with Jericho's environment for {steps} steps")
    else:
        note("Jericho knows neither score nor places of this story; they are not compared")
    if not seen.max_score:  # a story without score: winning it is all there is to reach
        print(f"{story.name}: no score, {seen.moves} moves{end or ', not won'}")
    else:
        print(f"{story.name}: {best:g} of {seen.max_score:g} points in {seen.moves} moves{end}")
    if theirs and story.metadata is None:  # some of Jericho's own solutions fall short by a point or two
        return 0
    return 0 if (best >= seen.max_score if seen.max_score else seen.outcome == "won") else 1


def _plain(story: Any) -> dict[str, Any]:
    from engine.games.catalogue import known_solution

    return {
        "name": story.name, "title": story.title, "shipped": story.shipped, "supported": story.supported,
        "max_score": story.max_score, "solution_known": known_solution(story) is not None, "md5": story.digest,
        "path": printable(story.path), "source": story.origin, "licence": story.licence,
        "description": story.description,
    }  # fmt: skip
