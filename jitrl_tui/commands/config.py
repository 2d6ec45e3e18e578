"""`jitrl config`: shows what is set, by what, and changes it; shows and compares profiles."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from typing import Any

from engine.disk import printable
from engine.errors import UsageError
from engine.settings import GROUPS, Settings, differences
from jitrl_tui.system.output import note


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("config", parents=[common], help="show and change settings, and compare profiles")
    parser.set_defaults(handler=lambda args: _help(parser))
    commands = parser.add_subparsers(metavar="COMMAND")
    show = commands.add_parser(
        "show", parents=[common], help="what is set, and by what; or the settings of a profile",
        description="Without a profile: every value, and where it comes from. A flag comes before an environment "
                    "variable, that before the config file, that before what the app remembers, that before the "
                    "profile, and that before the default.",
    )  # fmt: skip
    show.add_argument("profile", nargs="?", default=None)
    diff = commands.add_parser(
        "diff", parents=[common], help="what differs from the defaults; or the settings in which two profiles differ"
    )
    diff.add_argument("one", nargs="?", default=None)
    diff.add_argument("other", nargs="?", default=None)
    put = commands.add_parser("set", parents=[common], help="write a setting to the config file")
    put.add_argument("name", metavar="SETTING", help="such as theme, model, beta, or keys.watch.step_once")
    put.add_argument("value", metavar="VALUE")
    put.set_defaults(handler=_set)
    take = commands.add_parser("unset", parents=[common], help="take a setting out of the config file")
    take.add_argument("name", metavar="SETTING")
    take.set_defaults(handler=_unset)
    path = commands.add_parser("path", parents=[common], help="where the config file is")
    path.set_defaults(handler=_path)
    schema = commands.add_parser("schema", parents=[common], help="every setting as JSON schema")
    for command in (show, diff):
        command.add_argument(
            "--kind", default="game", metavar="NAME", help="profile for this kind of environment (default: %(default)s)"
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
    """Print all settings of a profile, or what is set. Values that differ from the default are marked."""
    if args.profile is None:
        return _show_set(args, changed=False)
    from engine.environments import profile

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
    """Print the settings in which two profiles differ, or those that are set, with both values and the meaning."""
    if args.one is None:
        return _show_set(args, changed=True)
    if args.other is None:
        from engine.errors import UsageError

        raise UsageError("config diff takes two profiles, or none to show what differs from the defaults")
    from engine.environments import profile

    found = differences(profile(args.one, args.kind), profile(args.other, args.kind))
    if args.json:
        print(json.dumps({name: {args.one: a, args.other: b} for name, (a, b) in found.items()}, indent=1))
        return 0
    meanings = {spec.name: spec.metadata["meaning"] for spec in dataclasses.fields(Settings)}
    print(f"{'setting':<19} {args.one:<14} {args.other:<14} meaning")
    for name, (a, b) in found.items():
        _row(f"{name:<19} {_text(a):<14} {_text(b):<14} ", meanings[name])
    return 0


def _show_set(args: argparse.Namespace, *, changed: bool) -> int:
    """Print every setting with its value and where it comes from; with `changed`, those that are not the default."""
    from engine.environments import profile
    from jitrl_tui.preferences.schema import OPTIONS

    made = args.preferences
    values = dataclasses.asdict(profile(made.value("session.profile"), args.kind))
    found = [(option, made.found(option.key, profile=values)) for option in OPTIONS]
    if changed:
        found = [(option, one) for option, one in found if one.value != option.default]
    if args.json:
        print(json.dumps([
            {"key": option.key, "value": one.value, "default": option.default, "source": one.source, "where": one.where,
             "meaning": option.meaning, "variable": option.variable, "flag": option.flag}
            for option, one in found
        ], indent=1))  # fmt: skip
    else:
        group = ""
        for option, one in found:
            if option.group != group:
                group = option.group
                print(f"\n{group}.")
            mark = "*" if one.value != option.default else " "
            _row(f"{mark} {option.name:<19} {_text(one.value) or '-':<14} {one.source:<11} ", option.meaning)
        print(f"\nconfig file: {printable(made.config.file)}")
        for name, keys in made.config.keys.items():
            print(printable(f"  key of {name}: {keys}"))
    for problem in made.problems:
        print(f"jitrl: {printable(problem)}", file=sys.stderr)
    return 2 if made.problems else 0


def _set(args: argparse.Namespace) -> int:
    """Write a setting to the config file."""
    from jitrl_tui import keymap
    from jitrl_tui.panes.registry import kinds
    from jitrl_tui.preferences import config

    made = args.preferences
    key, value = config.check_setting(args.name, args.value)
    if key.startswith("keys."):
        wrong = keymap.mistakes(keymap.tables(kinds()), {**made.config.keys, key.removeprefix("keys."): value})
        if wrong:
            raise UsageError(wrong[0])
    config.set_value(made.config.file, key, value)
    note(printable(f"{key} = {_text(value)} in {made.config.file}"))
    first = made.fixed(key) if not key.startswith("keys.") else None
    if first is not None and first.source == "environment":
        note(f"the {first.source_text} comes before it")
    return 0


def _unset(args: argparse.Namespace) -> int:
    """Take a setting out of the config file."""
    from jitrl_tui.preferences import config
    from jitrl_tui.preferences.schema import find

    key = args.name if args.name.startswith("keys.") else find(args.name).key
    config.set_value(args.preferences.config.file, key, None)
    return 0


def _path(args: argparse.Namespace) -> int:
    """Print the path of the config file."""
    print(printable(args.preferences.config.file))
    return 0


def _schema(args: argparse.Namespace) -> int:
    """Print a JSON schema of an object with all settings."""
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
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
