"""`jitrl serve`: the app in a browser. Each visitor gets a process of their own on the same saves folder."""

from __future__ import annotations

import argparse
import ipaddress
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

from engine.disk import read_text
from engine.errors import UsageError
from engine.paths import saves_folder

TOKEN = "JITRL_SERVE_TOKEN"
"""Variable with the secret part of the address."""
_LONGEST_FILE = 1000
SERVED = ("watch", "play", "replay", "sessions")
"""Commands that a visitor may get."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "serve", parents=[common], help="the app in a browser, on this machine unless told otherwise",
        description="Serve the app to browsers (it takes: jitrl up serve). Each visitor gets a process of their own, "
                    "with the memory and the sessions of this saves folder.",
    )  # fmt: skip
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1",
                        help="address to listen at (default: %(default)s)")  # fmt: skip
    parser.add_argument("--port", type=int, default=0, metavar="N",
                        help="port, 0 for any that is free (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--token-file", metavar="FILE",
        help=f"file with the secret part of the address, 16 to 128 letters and digits; or set {TOKEN}; else a new one",
    )  # fmt: skip
    parser.add_argument("--token", help=argparse.SUPPRESS)
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST",
        help="a name of this machine by which visitors come, such as that of a proxy",
    )  # fmt: skip
    parser.add_argument("--visitors", type=int, default=4, metavar="N",
                        help="most visitors at a time (default: %(default)s)")  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="listen where other machines can reach it")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND",
        help=f"what a visitor gets: {', '.join(SERVED)} with its arguments; without one, the home screen",
    )  # fmt: skip
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return the exit code."""
    from engine import extras

    token = _token(args)
    if not 0 <= args.port <= 65535:
        raise UsageError(f"--port takes 0 to 65535, not {args.port}")
    if args.visitors < 1:
        raise UsageError(f"--visitors takes 1 or more, not {args.visitors}")
    if args.command and args.command[0] not in SERVED:
        raise UsageError(f"a visitor cannot get {args.command[0]!r}; choose one of: {', '.join(SERVED)}")
    if not _is_loopback(args.host) and not args.yes:
        raise UsageError(
            f"--host {args.host} lets other machines in: who has the address can do what you can do in the app, and "
            "the connection is not encrypted; add --yes if you want that"
        )
    saves = saves_folder(args.saves)
    try:
        from jitrl_tui.served.server import TokenServer
    except ImportError as error:
        raise extras.missing_extra("serve", error) from None
    listening = _listen(args.host, args.port)
    port = listening.getsockname()[1]
    host = f"[{args.host}]" if ":" in args.host else args.host

    def ready() -> None:
        print(f"http://{host}:{port}/{token}/", flush=True)
        print("jitrl: the address has the key to it; tell it to nobody else. Each visitor gets a process of their own, "
              f"at most {args.visitors}. Ctrl-C ends it.", file=sys.stderr, flush=True)  # fmt: skip

    names = {"localhost", args.host, *args.name}
    TokenServer(_command(args, saves), listening, token, names, args.visitors, ready).run()
    return 0


def _token(args: argparse.Namespace) -> str:
    """Return the token. It comes by no argument, because other users of the machine see those.

    Raises:
        UsageError: It is none, or its file cannot be read.
    """
    if args.token is not None:
        raise UsageError(f"--token would show the token to all users of this machine; use --token-file FILE or {TOKEN}")
    given = os.environ.pop(TOKEN, None)  # no visitor's process gets it
    if args.token_file is not None:
        try:
            given = read_text(args.token_file, _LONGEST_FILE).strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"--token-file {args.token_file} cannot be read: {reason}") from None
    if given is None:
        return secrets.token_hex(16)
    if not 16 <= len(given) <= 128 or not given.isascii() or not given.isalnum():
        raise UsageError("a token has 16 to 128 letters and digits")
    return given


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UsageError: The host is not one of this machine, or the port is taken or none.
    """
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        listening = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise UsageError(f"--host {host} --port {port} is no address ({error})") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # Whoever comes before the server is ready waits.
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen at {host}, port {port} ({reason}); choose another with --port") from None
    return listening


def _command(args: argparse.Namespace, saves: Path) -> list[str]:
    """Return the command of a visitor."""
    from engine import children

    words = ["-m", "jitrl_tui.cli", "--saves", str(saves)]
    words += ["--games", str(Path(args.games).absolute())] if args.games else []
    return children.python(*words, *args.command)
