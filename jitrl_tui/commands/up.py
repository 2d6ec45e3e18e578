"""`jitrl up`: installs what an extra needs into this installation, however that was made."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from engine.errors import UsageError
from engine.paths import cache_folder, ensure_folder, saves_folder


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "up", parents=[common], help="install what a command needs beyond the usual",
        description="Install the packages of an extra into this installation. Without a name, list the extras.",
    )  # fmt: skip
    parser.add_argument("extras", metavar="EXTRA", nargs="*", help="such as web, serve or report")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Install the extras, or list them."""
    from engine.extras import EXTRAS, installed
    from engine.installer import install

    for name in args.extras:
        if name not in EXTRAS:
            raise UsageError(f"there is no extra {name!r}; choose one of: {', '.join(EXTRAS)}")
    for name in args.extras:
        folder = ensure_folder(cache_folder(saves_folder(args.saves)))
        install(name, folder, lambda text: print(f"jitrl: {text}", file=sys.stderr, flush=True))
    if not args.extras:
        wide = max(map(len, EXTRAS)) + 2
        for name, extra in EXTRAS.items():
            state = "apart" if extra.apart else "here" if installed(name) else ""
            print(f"{name:<{wide}}{state:<7}{extra.purpose}{f' ({extra.apart})' if extra.apart else ''}")
    return 0
