"""`jitrl games map`: shows the places of a game and the ways between them, from the episodes in memory."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from typing import Any

from engine.errors import UsageError
from engine.paths import saves_folder


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
