"""Imports Ray with the settings that a run needs."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from engine import extras

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Nothing is reported to anybody.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # Under `uv run`, Ray would pack and send the working folder.
}
"""Variables that Ray reads while it is imported. What the user has set stays."""
_JOINING = {"RAY_NUM_REDIS_GET_RETRIES": "1"}
"""More of them: how often Ray tries to reach a head node. It tries a process that is no head node for 40 s."""


def ray_library(*, joins: bool = False) -> Any:
    """Return the module `ray`.

    Args:
        joins: Whether it will join a cluster. Then it does not try for minutes.

    Raises:
        MissingError: It is not installed.
    """
    for name, value in {**_ENVIRONMENT, **(_JOINING if joins else {})}.items():
        os.environ.setdefault(name, value)
    ray, worker = (extras.load("ray", module) for module in ("ray", "ray._private.worker"))
    # Ray prints the deaths of workers to stdout, where our data go. The executor tells them as messages.
    worker._worker_logs_enabled = False
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    return ray


@contextlib.contextmanager
def private_token() -> Iterator[None]:
    """Make a new token that all processes of a Ray begun here must have; others are refused.

    It is only in their environment, so it is in no file and not in `ps`.
    """
    token = secrets.token_hex(32)
    ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    _reread()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        _reread()


def _reread() -> None:
    """Let Ray read its variables again. It reads them once, when it is imported."""
    core: Any = import_module("ray._raylet")
    core.Config.initialize("")
    core.AuthenticationTokenLoader.instance().reset_cache()
