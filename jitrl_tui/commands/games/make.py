"""`jitrl games make`: makes a new story, from a kind, a size and a seed (with TextWorld) or from Inform 6 source."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.paths import ensure_folder, saves_folder
from jitrl_tui.system.output import note


def register_make(actions: Any, common: argparse.ArgumentParser | None = None) -> None:
    """Add `make` to the actions of `jitrl games`. `common` has the options of all commands."""
    parser = actions.add_parser(
        "make",
        parents=[common] if common else [],
        help="make a new story with TextWorld (an extra), or from Inform 6 source",
    )
    parser.add_argument(
        "--inform", type=Path, metavar="FILE.inf", help="compile this source with Inform 6 instead (needs inform6)"
    )
    parser.add_argument("--library", type=Path, metavar="DIR", help="with --inform: folder of the Inform 6 library")
    parser.add_argument("--kind", choices=("cooking", "house"), default="house",
                        help="what it is about (default: house)")  # fmt: skip
    parser.add_argument(
        "--size", choices=("small", "medium", "large"), default="small", help="how large it is (default: small)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="another seed, another story (default: 1)"
    )
    parser.add_argument("--name", metavar="NAME",
                        help="name of the story (default: KIND-SIZE-SEED)")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="DIR",
                        help="folder for it (default: games in the saves folder)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="what was made, as an object on stdout")
    parser.set_defaults(handler=make)


def make(args: argparse.Namespace) -> int:
    """Make a story, check that it can be won, and print how to play it."""
    if args.inform is not None:
        return compile_own(args)
    from engine.games.stories.recipe import Recipe, make_story

    name = args.name or f"{args.kind}-{args.size}-{args.seed}"
    folder = ensure_folder(
        args.output or saves_folder(getattr(args, "saves", None)) / "games", private=False
    )
    recipe = Recipe(
        name=name,
        title=name.replace("-", " ").title(),
        kind=args.kind,
        size=args.size,
        seed=args.seed,
        difficulty={"small": "easy", "medium": "medium", "large": "hard"}[args.size],
        description=f"A {args.size} {args.kind} story, seed {args.seed}.",
    )
    note("making the story; this takes about ten seconds")
    entry = make_story(recipe, folder)
    if args.json:
        print(json.dumps(entry, indent=1))
    else:
        print(
            f"{folder / entry['file']}: {entry['rooms']} rooms, {entry['max_score']} points", file=sys.stderr
        )
    play = shlex.quote(str(name if args.output is None else folder / entry["file"]))
    note(f"play it: jitrl watch {play}; check it: jitrl games verify {play}")
    return 0


def compile_own(args: argparse.Namespace) -> int:
    """Compile a story from its source, add it, and say how to play it."""
    from engine.games.stories.inform import add_story

    saves = saves_folder(getattr(args, "saves", None))
    folder = ensure_folder(args.output or saves / "games")
    made = add_story(args.inform, folder, name=args.name, library=args.library, saves=saves)
    story = made.story
    if args.json:
        entry = {"name": story.name, "path": str(story.path), "md5": story.digest, "solution": list(made.solution)}
        print(json.dumps(entry, indent=1))
    play = shlex.quote(str(story.name if args.output is None else story.path))
    check = f"check its solution: jitrl games verify {play}" if made.solution else "its source names no solution"
    note(f"{story.path} is ready; play it: jitrl watch {play}; {check}")
    return 0


def register_map(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `map` to the actions of `jitrl games`."""
    parser = actions.add_parser(
        "map", parents=[common], help="draw what episodes in memory learnt of a game's places"
    )
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--here", metavar="PLACE", default="", help="the place to draw around, in brackets")
    parser.add_argument("--to", metavar="PLACE", help="only the known way from --here to this place")
    parser.add_argument("--memory", metavar="ADDRESS", help="the memory on a PostgreSQL server instead of the one here")
    parser.add_argument("--json", action="store_true", help="places and ways as an object on stdout")
    parser.set_defaults(handler=show_map)


def show_map(args: argparse.Namespace) -> int:
    """Print the map; return 1 if no way to the wanted place is known."""
    from engine.games.catalogue import find_game
    from engine.games.map import map_of
    from jitrl_tui.commands.memory.text import open_memory

    story = find_game(args.game, games=args.games, saves=saves_folder(args.saves))
    with open_memory(args) as memory:
        known = map_of(memory.scope(story.scope).episodes() if story.scope in memory.scopes() else ())
    if not known.places:
        raise UsageError(
            f"memory holds no episode of {story.name}, so there is no map; make some: "
            f"jitrl watch {shlex.quote(story.name)}"
        )
    first = next(iter(known.places))
    here, to = (_find(known.places, name) for name in (args.here or first, args.to or first))
    if args.to:
        way = known.route(here, to)
        if way is None:
            print(f"no way from {here} to {to} is known yet", file=sys.stderr)
            return 1
        print(json.dumps(way) if args.json else ", ".join(way))
        return 0
    if args.json:
        print(json.dumps(known.to_plain(), indent=1))
        return 0
    print(known.draw(here, shutil.get_terminal_size().columns))
    width = max(map(len, known.places))
    print(f"\n{'PLACE':<{width}}  FIRST WITH  MOST GAINED  VISITS")
    for place in known.places.values():
        gained = f"{place.gained:+g}" if place.gained else ""
        print(f"{place.name:<{width}}  {place.first_score:>10g}  {gained:>11}  {place.visits:>6}")
    return 0


def _find(places: dict[str, Any], name: str) -> str:
    """Return the place called `name`, ignoring case."""
    from difflib import get_close_matches

    found = next((place for place in places if place.lower() == name.lower()), None)
    if found is None:
        near = get_close_matches(name, places, 3, 0.4) or list(places)[:8]
        raise UsageError(f"no place {name!r} is known; there are, for instance: {', '.join(near)}")
    return found
