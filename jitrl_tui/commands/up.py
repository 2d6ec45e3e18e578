"""`jitrl up` installs what an extra needs into this installation; `jitrl completion SHELL` is what shells need."""

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
    from engine.extras import EXTRAS, is_installed
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
            state = "apart" if extra.apart else "here" if is_installed(name) else ""
            print(f"{name:<{wide}}{state:<7}{extra.purpose}{f' ({extra.apart})' if extra.apart else ''}")
    return 0


SHELLS = ("bash", "zsh", "fish")


def register_completion(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "completion", parents=[common], help="complete commands, options and names in your shell",
        description="Print a script that makes a shell complete commands, options, games, sessions and settings. Add "
                    "the line of the examples for your shell to ~/.bashrc, ~/.zshrc (below compinit) or "
                    "~/.config/fish/config.fish.",
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(handler=_completion)


def _completion(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["jitrl"], shell=args.shell))
    return 0
