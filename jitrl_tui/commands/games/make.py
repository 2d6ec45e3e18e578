"""`jitrl games make`: makes a new story from a kind, a size and a seed, with TextWorld."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def register_make(actions: Any, common: argparse.ArgumentParser | None = None) -> None:
    """Add `make` to the actions of `jitrl games`. `common` has the options of all commands."""
    parser = actions.add_parser(
        "make", parents=[common] if common else [], help="make a new story with TextWorld (an extra)"
    )
    parser.add_argument("--kind", choices=("cooking", "house"), default="house", help="default: house")
    parser.add_argument(
        "--size", choices=("small", "medium", "large"), default="small", help="default: small"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="another seed, another story; default 1"
    )
    parser.add_argument("--name", metavar="NAME", help="name of the story; default KIND-SIZE-SEED")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: games in the saves folder")
    parser.add_argument("--json", action="store_true", help="what was made, as an object on stdout")
    parser.set_defaults(handler=make)


def make(args: argparse.Namespace) -> int:
    """Make a story, check that it can be won, and print how to play it."""
    from engine.games.stories.recipe import Recipe, make_story
    from engine.paths import ensure_folder, saves_folder

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
    print("making the story; this takes about ten seconds", file=sys.stderr)
    entry = make_story(recipe, folder)
    if args.json:
        print(json.dumps(entry, indent=1))
    else:
        print(
            f"{folder / entry['file']}: {entry['rooms']} rooms, {entry['max_score']} points", file=sys.stderr
        )
    play = name if args.output is None else folder / entry["file"]
    print(f"play it: jitrl watch {play}; check it: jitrl games verify {play}", file=sys.stderr)
    return 0
