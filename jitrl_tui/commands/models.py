"""`jitrl models`: which models can be had, and how good they are at choosing."""

from __future__ import annotations

import argparse
import json
from typing import Any


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("models", parents=[common], help="list and test language models")
    commands = parser.add_subparsers(metavar="ACTION", title="actions")
    listing = commands.add_parser("ls", parents=[common], help="list the models of this machine")
    listing.add_argument("--json", action="store_true", help="a list on stdout")
    listing.set_defaults(handler=_ls)
    parser.set_defaults(handler=_ls, json=False)


def _ls(args: argparse.Namespace) -> int:
    from engine.errors import MissingError
    from engine.llm import weights

    items = []
    for known in weights.KNOWN.values():
        try:
            weights.find(known.name, None)
            here, how = True, ""
        except MissingError:
            here, how = False, known.install
        items.append({"name": known.name, "title": known.title, "installed": here, "install": how,
                      "bytes": known.size, "licence": known.licence})  # fmt: skip
    items.append({"name": "prior/uniform", "title": "no model: all valid actions alike", "installed": True,
                  "install": "", "bytes": 0, "licence": ""})  # fmt: skip
    if args.json:
        print(json.dumps(items, indent=1))
        return 0
    for item in items:
        state = "installed" if item["installed"] else "not here"
        print(f"{item['name']:<26} {state:<10} {item['bytes'] / 2**20:>6.0f} MB  {item['title']}")
        if item["install"]:
            print(f"{'':<26} {item['install']}")
    return 0
