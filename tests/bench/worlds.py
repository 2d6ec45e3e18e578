"""Synthetic lives for measuring memory: a large game in which states come back, as they do in play."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from engine.records import Episode, State, Step


@dataclass(frozen=True)
class Shape:
    """How varied a world is. Its states hold about 44 tokens, its histories about 14."""

    rooms: int = 110
    items: int = 60
    words: int = 4000
    surprise: float = 0.25


GAME = Shape()
"""Many visits to few places: at 100k entries about 6 of 10 states are distinct."""


class World:
    """Plays random episodes.

    Args:
        seed: Same seed, same episodes.
    """

    def __init__(self, seed: int, shape: Shape = GAME) -> None:
        self._rng = random.Random(seed)
        self._shape = shape
        weights = [1 / (rank + 8) for rank in range(shape.words)]
        words = [f"w{rank}" for rank in range(shape.words)]
        draw = self._rng.choices
        self._rooms = [sorted(set(draw(words, weights, k=42))) for _ in range(shape.rooms)]
        self._items = [[*sorted(set(draw(words, weights, k=3))), f"item{i}"] for i in range(shape.items)]
        self._news = [sorted(set(draw(words, weights, k=5))) for _ in range(400)]
        self._exits = [[self._rng.randrange(shape.rooms) for _ in range(4)] for _ in range(shape.rooms)]
        self._number = 0

    def episodes(self, entries: int, steps: int = 60) -> Iterator[Episode]:
        """Yield episodes that hold about `entries` steps together."""
        for _ in range(max(1, round(entries / steps))):
            yield self.episode(steps)

    def episode(self, steps: int = 60) -> Episode:
        """Return the next episode."""
        self._number += 1
        rng, shape = self._rng, self._shape
        room, held, seen = 0, set[int](), [0]
        where = {item: (item * 7) % shape.rooms for item in range(shape.items)}
        lived = []
        state = self._state(room, held, where, seen)
        for t in range(steps):
            here = [item for item in range(shape.items) if where[item] == room and item not in held]
            draw = rng.random()
            if here and draw < 0.15:
                item = rng.choice(here)
                held.add(item)
                action = f"take item{item}"
            elif held and draw < 0.2:
                item = rng.choice(sorted(held))
                held.remove(item)
                where[item] = room
                action = f"drop item{item}"
            else:
                direction = rng.randrange(4)
                room = self._exits[room][direction]
                action = ("north", "south", "east", "west")[direction]
                seen.append(room)
            reward = rng.choice([0.0, 0.0, 0.0, 1.0, 5.0, -0.5])
            valid = ("north", "south", "east", "west", "look", *(f"take item{i}" for i in here))
            lived.append(Step(state, action, reward, max(reward, 0.0), float(t), valid_actions=valid,
                              world_hash=f"{rng.getrandbits(64):016x}"))  # fmt: skip
            state = self._state(room, held, where, seen)
        return Episode(f"{self._number}-{rng.getrandbits(96):x}", "game/bench", tuple(lived), state, agent="jitrl",
                       model="local/smollm2", seed=1, score=float(len(held)), started=1.7e9 + self._number)  # fmt: skip

    def _state(self, room: int, held: set[int], where: dict[int, int], seen: list[int]) -> State:
        tokens = {f"room{room}", *self._rooms[room]}
        for item in held:
            tokens.add(f"held{item}")
        for item, place in where.items():
            if place == room and item not in held:
                tokens.update(self._items[item])
        if self._rng.random() < self._shape.surprise:
            tokens.update(self._rng.choice(self._news))
        ordered = tuple(sorted(tokens))
        progress = (
            {f"did{i}" for i in held}
            | {f"room{r}" for r in seen[-6:]}
            | {"playing", "score", f"s{len(held)}"}
        )
        history = tuple(sorted(progress))
        return State(f"[Room {room}: {', '.join(ordered)}]", ordered,
                     f"[SUMMARY] {' '.join(history)} [LOCATION] room{room}", history, f"Room {room}")  # fmt: skip
