"""Corridors to walk through, `toy:ROOMS`: an environment of a package of its own."""

from __future__ import annotations

from engine.errors import UsageError
from engine.kinds import EnvironmentContext, Kind
from engine.llm.prompts import TEXT, Folder
from engine.llm.questions import Asking, TextAsking
from engine.memory.search import ScopeRules


def _open(name: str, context: EnvironmentContext):
    from toy_world.corridor import Corridor

    return Corridor(name, _rooms(name))


def _ready(name: str, context: EnvironmentContext) -> tuple[str, ...]:
    if name == "toy:all":
        return ("toy:2", "toy:3")
    _rooms(name)
    return (name,)


def _rooms(name: str) -> int:
    rooms = name.removeprefix("toy:")
    if not rooms.isdecimal() or not 1 <= int(rooms) <= 99:
        raise UsageError(f"{name} is no corridor: it is toy:ROOMS with 1 to 99 rooms, or toy:all")
    return int(rooms)


def _asking() -> Asking:
    return TextAsking(prompts=Folder("toy_world.prompts", base=TEXT))


KIND = Kind(
    name="toy",
    about="corridors: toy:ROOMS, or toy:all",
    open=_open,
    fallback=("right", "wait"),
    ready=_ready,
    aliases={"corridor:": "toy:"},
    opening="sweeping the corridor",
    profiles={"default": {"selection": "greedy", "beta": 20.0, "gamma": 0.9, "step_limit": 12}},
    asking=_asking,
    memory=ScopeRules(forms=False),
)
