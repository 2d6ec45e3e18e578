"""Plays the cells of a run on a Ray cluster, or on a Ray that is started for it on this machine.

Ray is imported when a run asks for it, and not before. `ray_cluster.py` is the way in.

The names of places at which a run can be played, the values of `--on`, are here.
"""

from __future__ import annotations

import re

from engine.errors import UsageError

LOCAL = "local"
"""Processes of this machine, without Ray."""
OWN, AUTO = "own", "auto"
"""Addresses of Ray: one that is started for the run, and the cluster that this machine belongs to."""
_CLIENT_PORT = 10001


def ray_address(on: str) -> str:
    """Return the address in `ray`, `ray:auto` or `ray://HOST:PORT`: OWN, AUTO, or HOST:PORT.

    Raises:
        UsageError: It is none of them.
    """
    if on == "ray":
        return OWN
    if on == "ray:auto":
        return AUTO
    found = re.fullmatch(r"ray://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?/?", on)
    if found is None or not 0 < int(found[2] or 6379) < 65536:
        raise UsageError(f"--on takes {LOCAL}, ray, ray:auto or ray://HOST:PORT, not {on!r}")
    if found[2] == str(_CLIENT_PORT):
        raise UsageError(
            f"--on {on}: port {_CLIENT_PORT} is that of Ray Client, which jitrl does not use; name the port of the "
            "head node (6379 unless it was started with another), on a machine that belongs to the cluster"
        )
    return f"{found[1]}:{found[2] or 6379}"
