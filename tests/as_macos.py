"""Runs Python as on macOS: `python tests/as_macos.py -m MODULE ...` or `... FILE ...`. Children run in the same way.

What only Linux has is gone, or refuses as there: `/proc`, a limit on memory, the confinement, and some functions.
"""

from __future__ import annotations

import builtins
import io
import os
import resource
import runpy
import select
import sys
from collections.abc import Callable
from typing import Any

_HERE = os.path.abspath(__file__)
_ROOT = os.path.dirname(os.path.dirname(_HERE))


def _without_proc(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(path: Any = ".", *args: Any, **named: Any) -> Any:
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if f"{text}/".startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", text)
        return call(path, *args, **named)

    return called


def _pretend() -> None:
    setrlimit, linux = resource.setrlimit, sys.platform

    def refusing(kind: int, limits: tuple[int, int]) -> None:
        if kind == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        setrlimit(kind, limits)

    resource.setrlimit = refusing
    for name in ("open", "stat", "lstat", "listdir", "scandir", "readlink"):
        setattr(os, name, _without_proc(getattr(os, name)))
    builtins.open = io.open = _without_proc(open)
    gone = {
        os: ("pidfd_open", "memfd_create", "sched_getaffinity", "sched_setaffinity", "O_TMPFILE", "O_PATH", "eventfd"),
        resource: ("prlimit",), select: ("epoll",),
    }  # fmt: skip
    for module, names in gone.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)

    from engine import children, confine, forks

    class Mac:
        platform = "darwin"

        def __getattr__(self, name: str) -> Any:
            return getattr(sys, name)

    assert linux == "linux"
    confine.sys = forks.sys = Mac()
    children.python = lambda *arguments: [sys.executable, "-P", _HERE, *arguments]


def _main(arguments: list[str]) -> None:
    sys.path[:] = [_ROOT, *(folder for folder in sys.path if folder != os.path.dirname(_HERE))]
    _pretend()
    words = arguments[:]
    while words[0] in ("-P", "-I", "-S"):
        words.pop(0)
    kind, sys.argv = words[0], words[1:] if words[0] in ("-m", "-c") else words
    if kind == "-m":
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})
    else:
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    _main(sys.argv[1:])
