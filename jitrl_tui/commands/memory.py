"""`jitrl memory`: look at what was learnt, carry it elsewhere, take things out of it."""

from __future__ import annotations

import argparse
import json
from typing import Any


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "memory", parents=[common], help="look at what was learnt, and care for it"
    )
    commands = parser.add_subparsers(metavar="ACTION", title="actions")
    listing = commands.add_parser("ls", parents=[common], help="list the scopes")
    listing.add_argument("--json", action="store_true", help="a list on stdout")
    listing.set_defaults(handler=_ls)
    parser.set_defaults(handler=_ls, json=False)


def _ls(args: argparse.Namespace) -> int:
    from engine.memory import Memory
    from engine.paths import saves_folder

    with Memory(saves_folder(args.saves) / "memory") as memory:
        items = []
        for name in memory.scopes():
            scope = memory.scope(name)
            items.append({"scope": name, "episodes": scope.episode_count, "entries": len(scope),
                          "bytes": scope.path.stat().st_size})  # fmt: skip
    if args.json:
        print(json.dumps(items, indent=1))
    else:
        for item in items:
            print(f"{item['scope']:<40} {item['episodes']:>6} episodes {item['entries']:>8} entries")
    return 0
