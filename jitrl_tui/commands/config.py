"""`jitrl config`: shows the settings, their meaning, and the differences of profiles."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import textwrap
from typing import Any


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("config", parents=[common], help="show settings and compare profiles")
    parser.set_defaults(handler=lambda args: _help(parser))
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    show = commands.add_parser("show", parents=[common], help="the settings of a profile, with their meaning")
    show.add_argument("profile", nargs="?", default="default")
    diff = commands.add_parser("diff", parents=[common], help="the settings in which two profiles differ")
    diff.add_argument("one")
    diff.add_argument("other")
    schema = commands.add_parser("schema", parents=[common], help="every setting as JSON schema")
    for command in (show, diff):
        command.add_argument(
            "--kind", default="game", metavar="NAME", help="the profile for this kind of environment (%(default)s)"
        )
        command.add_argument("--web", action="store_const", const="web", dest="kind", help="short for --kind web")
        command.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(handler=_show)
    diff.set_defaults(handler=_diff)
    schema.set_defaults(handler=_schema)


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 2


def _show(args: argparse.Namespace) -> int:
    """Print all settings of a profile. Those that differ from the default value are marked."""
    from engine.environments import profile
    from engine.settings import GROUPS, Settings

    settings, usual = profile(args.profile, args.kind), Settings()
    if args.json:
        print(json.dumps(dataclasses.asdict(settings), indent=1))
        return 0
    for group in GROUPS:
        print(f"\n{group.__doc__}")
        for spec in dataclasses.fields(group):
            value = getattr(settings, spec.name)
            mark = "*" if value != getattr(usual, spec.name) else " "
            _row(f"{mark} {spec.name:<19} {_text(value):<14} ", spec.metadata["meaning"])
    return 0


def _diff(args: argparse.Namespace) -> int:
    """Print the settings in which two profiles differ, with the value in each and the meaning."""
    from engine.environments import profile
    from engine.settings import Settings, differences

    found = differences(profile(args.one, args.kind), profile(args.other, args.kind))
    if args.json:
        print(json.dumps({name: {args.one: a, args.other: b} for name, (a, b) in found.items()}, indent=1))
        return 0
    meanings = {spec.name: spec.metadata["meaning"] for spec in dataclasses.fields(Settings)}
    print(f"{'setting':<19} {args.one:<14} {args.other:<14} meaning")
    for name, (a, b) in found.items():
        _row(f"{name:<19} {_text(a):<14} {_text(b):<14} ", meanings[name])
    return 0


def _schema(args: argparse.Namespace) -> int:
    """Print a JSON schema of an object with all settings."""
    from engine.settings import Settings

    properties: dict[str, Any] = {}
    for spec in dataclasses.fields(Settings):
        meta = spec.metadata
        entry: dict[str, Any] = {"description": meta["meaning"], "default": spec.default}
        if meta["choices"]:
            entry["enum"] = list(meta["choices"])
        elif isinstance(spec.default, str):
            entry["type"] = "string"
        else:
            entry["type"] = "integer" if isinstance(spec.default, int) else "number"
            entry |= {"minimum": meta["low"], "maximum": meta["high"]}
        properties[spec.name] = entry
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of jitrl",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    print(json.dumps(schema, indent=1))
    return 0


def _row(head: str, meaning: str) -> None:
    """Print a row. Its last column is wrapped if the terminal is too narrow."""
    width = max(len(head) + 20, shutil.get_terminal_size((100, 24)).columns)
    print(textwrap.fill(meaning, width, initial_indent=head, subsequent_indent=" " * len(head)))


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
