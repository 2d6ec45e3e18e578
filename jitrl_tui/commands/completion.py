"""`jitrl completion SHELL`: prints what makes a shell complete the command line of jitrl."""

from __future__ import annotations

import argparse
from typing import Any

SHELLS = ("bash", "zsh", "fish")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "completion", parents=[common], help="complete commands, options and names in your shell",
        description="Print a script that makes a shell complete commands, options, games, sessions and settings. Add "
                    "the line of the examples for your shell to ~/.bashrc, ~/.zshrc (below compinit) or "
                    "~/.config/fish/config.fish.",
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["jitrl"], shell=args.shell))
    return 0
