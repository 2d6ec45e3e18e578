"""Runs one server for as long as its parent process lives: `python keeper.py PROGRAM ARGUMENTS...`.

It prints the server's process id, then waits on its standard input. After a line `release`, it exits and the server
keeps running. At the end of the input, which also comes when the parent process dies, it kills the server. It uses
the standard library only and runs without site-packages.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

PATIENCE_S = 4.0


def main(argv: list[str]) -> int:
    """Run `argv`; return 0 if it was released, else its exit status."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        server = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr, start_new_session=True
        )
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return 127
    signal.signal(signal.SIGTERM, lambda *_: _end(server))
    os.write(1, f"{server.pid}\n".encode())
    while server.poll() is None:
        if 0 not in select.select([0, woken], [], [])[0]:
            os.read(woken, 64)
        elif os.read(0, 64).startswith(b"release"):
            return 0
        else:
            break
    _end(server)
    return server.returncode or 0


def _end(server: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
        except ProcessLookupError:
            break
        try:
            server.wait(PATIENCE_S)
            break
        except subprocess.TimeoutExpired:
            continue
    server.poll()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
