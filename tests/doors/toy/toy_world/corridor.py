"""A corridor: who walks right through all of its rooms has won."""

from __future__ import annotations

from engine.environment import Abstractor, Writing
from engine.records import EnvironmentInfo, Observation, State

PRIZE = 10.0


class Corridor:
    """The first room is dark: nobody knows what can be done there. It is derived from no class of jitrl."""

    def __init__(self, name: str, rooms: int) -> None:
        self.info = EnvironmentInfo(name, f"a corridor of {rooms} rooms", f"toy/{rooms}", PRIZE)
        self._rooms = rooms
        self._room = 0

    def reset(self, seed: int) -> Observation:
        self._room = 0
        return self._seen("You wake up.", changed=True)

    def step(self, action: str) -> Observation:
        before = self._room
        self._room = min(self._rooms, max(0, before + {"right": 1, "left": -1}.get(action, 0)))
        return self._seen(f"You go {action}.", changed=self._room != before)

    def valid_actions(self) -> tuple[str, ...]:
        return ("left", "right") if 0 < self._room < self._rooms else ()

    def abstractor(self) -> Abstractor:
        return Rooms()

    def _seen(self, text: str, *, changed: bool) -> Observation:
        out = self._room == self._rooms
        return Observation(
            text=text, place=f"room {self._room}", score=PRIZE if out else 0.0, max_score=PRIZE, terminated=out,
            outcome="won" if out else "", world_hash=str(self._room), changed=changed,
        )  # fmt: skip


class Rooms:
    """A state is the room. Implements `engine.environment.Abstractor`."""

    def __init__(self) -> None:
        self._taken: list[str] = []

    def begin(self, observation: Observation) -> State:
        self._taken = []
        return self._state(observation)

    def advance(self, action: str, observation: Observation) -> State:
        self._taken.append(action)
        return self._state(observation)

    def recent(self, steps: int) -> str:
        return "\n\n".join(f"> {action}" for action in self._taken[-steps:])

    def situation(self, observation: Observation) -> str:
        return f"You are in {observation.place}."

    def written(self, writing: Writing) -> Abstractor:
        return self

    def _state(self, observation: Observation) -> State:
        note = "password: swordfish-77"  # no secret of anybody's: it is scratched into every wall
        return State(f"[State: {observation.place}] {note}", (observation.place,), place=observation.place)
