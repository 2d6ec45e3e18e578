"""`jitrl games make`: makes a new story, from a kind, a size and a seed (with TextWorld) or from Inform 6 source."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from engine.paths import ensure_folder, saves_folder
from jitrl_tui.output import note


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
