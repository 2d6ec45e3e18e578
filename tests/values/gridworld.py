"""A small world with known optimal scores: rooms, treasures, a door, a pit. No text, only states."""

from __future__ import annotations

from engine.records import Episode, State, Step

ROOMS = {
    "hall": {"north": "attic", "east": "den"},
    "attic": {"south": "hall"},
    "den": {"west": "hall", "north": "vault"},
    "vault": {"south": "den"},
}


class World:
    """Treasures: a coin (3) in the attic, a ring (5) in the vault behind a door that must be opened first.

    Args:
        pit: One can jump to death from the hall.
        gate: Points for leaving from the hall, which ends the game and is no death; None for no gate.
    """

    def __init__(self, pit: bool = False, gate: int | None = None) -> None:
        self.pit, self.gate = pit, gate

    def reset(self) -> State:
        self.at, self.have, self.open, self.score, self.done, self.died = (
            "hall",
            set(),
            False,
            0,
            False,
            False,
        )
        self.left = {"attic": {"coin"}, "vault": {"ring"}}
        return self.state()

    def state(self) -> State:
        tokens = [f"place:{self.at}", *(f"have:{x}" for x in self.have)]
        tokens += [f"see:{x}" for x in self.left.get(self.at, ())]
        if self.at == "den":
            tokens.append("see:door=open" if self.open else "see:door=closed")
        return State(" ".join(sorted(tokens)), tuple(sorted(tokens)), place=self.at)

    def valid(self) -> tuple[str, ...]:
        actions = [d for d, to in ROOMS[self.at].items() if to != "vault" or self.open]
        actions += [f"take {x}" for x in sorted(self.left.get(self.at, ()))] + [
            f"drop {x}" for x in sorted(self.have)
        ]
        if self.at == "den" and not self.open:
            actions.append("open door")
        if self.at == "hall" and self.pit:
            actions.append("jump")
        if self.at == "hall" and self.gate is not None:
            actions.append("leave")
        return tuple(actions)

    def step(self, action: str) -> tuple[State, float]:
        before = self.score
        verb, _, thing = action.partition(" ")
        if action == "jump":
            self.done = self.died = True
            self.score -= 10
        elif action == "leave":
            self.done = True
            self.score += self.gate or 0
        elif action in ROOMS[self.at]:
            self.at = ROOMS[self.at][action]
        elif verb == "take":
            self.left[self.at].discard(thing)
            self.have.add(thing)
            self.score += {"coin": 3, "ring": 5}[thing] if thing not in self._paid() else 0
            self.paid.add(thing)
        elif verb == "drop":
            self.have.discard(thing)
            self.left.setdefault(self.at, set()).add(thing)
        elif action == "open door":
            self.open = True
        return self.state(), float(self.score - before)

    def _paid(self) -> set[str]:
        if not hasattr(self, "paid") or self.score == 0:
            self.paid: set[str] = set()
        return self.paid


def live(world: World, actions: list[str], uid: str = "e") -> Episode:
    """Play `actions` and return the episode."""
    state, steps = world.reset(), []
    for action in actions:
        valid = world.valid()
        assert action in valid, (action, valid)
        then, reward = world.step(action)
        steps.append(Step(state, action, reward, reward, world.score, valid_actions=valid))
        state = then
    outcome = "lost" if world.died else ""
    return Episode(
        uid, "game/grid", tuple(steps), state, score=world.score, terminated=world.done, outcome=outcome
    )
