"""The ways of a step, a key and an episode through the rooms of the code, as a profiler sees them.

    python -m tests.ways

writes them into docs/architecture.md. `tests/test_ways.py` fails when the page says something else, and when a way
passes more than a dozen rooms. With `--json` they are printed: a process that has done other things before would take
other ways, since it remembers some answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- written by python -m tests.ways -->", "<!-- end of what is written -->"
MOST = 12
"""Rooms that a way may pass."""
PACKAGES = ("engine", "jitrl_tui")


def room(module: str) -> str:
    """Return the room of a module: the folder right below `engine` or `jitrl_tui`, or one of these two themselves."""
    parts = module.split(".")
    module_there = len(parts) > 1 and not (Path(__file__).parents[1] / parts[0] / parts[1]).is_dir()
    return parts[0] if len(parts) == 1 or module_there else "/".join(parts[:2])


@dataclass
class Part:
    """What one thread did on a way.

    Attributes:
        title: Who did what, in a few words.
        modules: The modules whose functions were called, in the order of their first calls.
    """

    title: str
    modules: list[str] = field(default_factory=list)

    @property
    def rooms(self) -> dict[str, list[str]]:
        """By room, in the order of the first calls: its modules."""
        found: dict[str, list[str]] = {}
        for module in self.modules:
            package = room(module).replace("/", ".")
            found.setdefault(room(module), []).append(module.removeprefix(f"{package}.").replace(package, "__init__"))
        return found


@dataclass
class Way:
    """A way through the rooms, in parts that follow each other or run side by side."""

    title: str
    about: str
    parts: list[Part]

    @property
    def rooms(self) -> list[str]:
        """Each room once, in the order of the first calls."""
        return list(dict.fromkeys(name for part in self.parts for name in part.rooms))


class Calls:
    """Notes which modules of the project are called, by thread, while it is `on`.

    Args:
        others: A function whose calls, and all below them, are left out: what a clock asks for, not the key.
        end: The function with which the way of a thread ends.
    """

    def __init__(self, others: CodeType | None = None, end: CodeType | None = None) -> None:
        self.on = False
        self.by_thread: dict[str, dict[str, None]] = {}
        self._others, self._end = others, end
        self._ended = set[int]()
        self._left_out: dict[int, FrameType] = {}

    def see(self, frame: FrameType, what: str, _: object) -> None:
        """Take in what Python tells a profiler."""
        thread = threading.get_ident()
        if what == "return" and self._left_out.get(thread) is frame:
            del self._left_out[thread]
        if what != "call" or thread in self._left_out or thread in self._ended:
            return
        if frame.f_code is self._others:
            self._left_out[thread] = frame
        elif self.on and frame.f_code is self._end:
            self._ended.add(thread)
        elif self.on and (name := frame.f_globals.get("__name__", "")).partition(".")[0] in PACKAGES:
            self.by_thread.setdefault(threading.current_thread().name, {}).setdefault(name)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note the calls in the block: those of this thread, and of those that are watched."""
        self.by_thread, self.on = {}, True
        self._ended.clear()
        sys.setprofile(self.see)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.on = False

    def modules(self, thread: str) -> list[str]:
        """Return the modules that a thread called, in their order."""
        return [*self.by_thread.get(thread, ())]

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Be told of the calls of the threads that begin in the block."""
        threading.setprofile(self.see)
        try:
            yield
        finally:
            threading.setprofile(None)


def step(saves: Path) -> Way:
    """Return the way of a step: the sixth of the second episode of `jitrl run pantry`."""
    from engine.session.loop import Session
    from jitrl_tui.cli import main

    calls, decide, made = Calls(), Session._decide.__code__, 0

    def see(frame: FrameType, what: str, arg: object) -> None:
        nonlocal made
        if what == "call" and frame.f_code is decide:
            made += 1
            calls.on = made == _EPISODE + 6
        calls.see(frame, what, arg)

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(see)
        try:
            main(["run", "pantry", "--saves", str(saves), "--model", "prior/verbs", "--episodes", "2",
                  "--steps", str(_EPISODE), "--quiet"])  # fmt: skip
        finally:
            sys.setprofile(None)
    about = "One step of `jitrl run pantry`, from the question to the agent to the next one."
    return Way("A step", about, [Part("the session", calls.modules("MainThread"))])


_EPISODE = 12
"""Steps of an episode that is played here."""
_KEYS = 3
"""How often the key is pressed."""


def key(saves: Path) -> Way:
    """Return the way of a key: `o` on the watch screen of a session that waits, an action, and Enter."""
    return asyncio.run(_key(saves))


async def _key(saves: Path) -> Way:
    from engine.environments import profile
    from engine.session import orders
    from engine.session import store as sessions
    from engine.session.loop import Session
    from engine.settings import SessionConfig
    from jitrl_tui.app import JitrlApp, _watch
    from jitrl_tui.screens.watch import WatchScreen
    from tests.tui.driving import until, watch

    settings = profile("default", step_limit=_EPISODE)
    saved = sessions.create(saves, SessionConfig("pantry", model="prior/verbs", episodes=2, settings=settings), "watch")
    orders.give(saved.folder, orders.Orders(orders.ALWAYS))
    app, seen = JitrlApp(lambda: _watch(saved, saves), saves=saves), []
    calls = Calls(WatchScreen._tick.__code__, Session._decide.__code__)
    with calls.watching():
        async with app.run_test(size=(140, 45)) as pilot:
            screen = watch(pilot)
            for number in range(_KEYS):
                await until(pilot, lambda at=number: screen.view.asks and screen.view.step == at)
                with calls.noting():
                    await pilot.press("o", "z", "enter")
                    await until(pilot, lambda at=number: screen.view.asks and screen.view.step == at + 1)
                seen.append((calls.modules("MainThread"), calls.modules("session")))
    about = (
        "`o` on the watch screen of a session that asks, an action, Enter: until the action is done and the screen "
        "shows it. The window opens at once; its answer is one call, and what the session tells comes back as events."
    )
    screens, playing = zip(*seen, strict=True)
    parts = [Part("the screen", _common(screens)), Part("the session", _common(playing))]
    return Way("A key", about, parts)


def _common(ways: Sequence[list[str]]) -> list[str]:
    """Return the modules that are on all ways. Others are called by a clock, or by work in the background."""
    return [module for module in ways[0] if all(module in way for way in ways)]


def episode(saves: Path) -> Way:
    """Return the way of an episode into a memory: an append to a memory that has one already."""
    import dataclasses

    from engine.environments import scope_rules
    from engine.memory import Memory
    from engine.session import store as sessions

    played = next(iter(sessions.saved_sessions(saves)))
    with sessions.open_memory(saves, played) as memory:
        (name,) = memory.scopes()
        one = next(iter(memory.scope(name).episodes()))
    calls = Calls()
    with Memory(saves / "another", rules=scope_rules, secrets=()) as memory:
        scope = memory.scope(name)
        scope.append(dataclasses.replace(one, uid="first", number=0))  # makes the file, and imports what it needs
        with calls.noting():
            scope.append(dataclasses.replace(one, uid="second", number=0))
    about = "One episode appended to a memory on disk: when it comes back, it is on the disk and in the index."
    return Way("An episode", about, [Part("the memory", calls.modules("MainThread"))])


def ways() -> list[Way]:
    """Return all three ways."""
    with tempfile.TemporaryDirectory() as folder:
        saves = Path(folder)
        return [step(saves / "step"), key(saves / "key"), episode(saves / "step")]


def section(found: list[Way]) -> str:
    """Return what the page says of the ways."""
    lines = [BEGIN]
    for way in found:
        lines += ["", f"### {way.title}: {len(way.rooms)} rooms", "", way.about]
        for part in way.parts:
            lines += ["", f"| {part.title} | modules, in the order in which they are called first |", "|---|---|"]
            for name, modules in part.rooms.items():
                lines.append(f"| `{name}` | {', '.join(f'`{module}`' for module in modules)} |")
    return "\n".join([*lines, "", END])


def replaced(text: str, new: str) -> str:
    """Return the text of the page with a new section."""
    before, _, rest = text.partition(BEGIN)
    return before + new + rest.partition(END)[2]


def unordered(text: str) -> list[str]:
    """Return the lines of a section without the order of rooms and modules, which two threads may change a little."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append("".join(sorted(re.split(r"(?<=`), | \\|", line))) if line.startswith("| `") else line)
    return [line for _, rows in groupby(lines, lambda line: line.startswith("| `")) for line in sorted(rows)]


if __name__ == "__main__":
    if sys.argv[1:] == ["--json"]:
        print(json.dumps([asdict(way) for way in ways()]))
        sys.exit()
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), section(ways())), encoding="utf-8")
    print(PAGE, file=sys.stderr)
