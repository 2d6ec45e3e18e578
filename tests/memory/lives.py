"""Small random lives, and brute force to compare with."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from engine import jitrl
from engine.records import Episode, State, Step


def jaccard(a: Iterable[str], b: Iterable[str]) -> float:
    one, two = set(a), set(b)
    return len(one & two) / len(one | two) if one | two else 1.0


def make_state(rng: random.Random, rooms: int = 5, words: int = 12) -> State:
    room = rng.randrange(rooms)
    items = {f"item{rng.randrange(4)}" for _ in range(rng.randrange(3))}
    tokens = tuple(sorted({f"room{room}w{i}" for i in range(words)} | items))
    history = tuple(sorted({f"h{rng.randrange(6)}" for _ in range(rng.randrange(5))}))
    return State(f"[Room {room}: {', '.join(tokens)}]", tokens, " ".join(history), history, f"Room {room}")


def make_episode(rng: random.Random, uid: str, steps: int = 8, words: int = 12, **fields: object) -> Episode:
    lived = tuple(
        Step(make_state(rng, words=words), f"go {rng.randrange(3)}", rng.choice([-1.0, 0.0, 2.5]),
             float(rng.randrange(3)), float(t), valid_actions=("go 0", "go 1"), world_hash=f"w{rng.randrange(9)}")
        for t in range(steps)
    )  # fmt: skip
    settings = {"agent": "jitrl", "model": "m", "seed": 3, "score": 4.0, "max_score": 9.0, **fields}
    return Episode(uid, "game/test", lived, make_state(rng, words=words), **settings)  # type: ignore[arg-type]


def brute_force(
    episodes: Sequence[Episode], query: State, *, k: int, r: float, weight: float, gamma: float
) -> list[tuple[float, int, str, float, int, int, str]]:
    """Return (similarity, entry, action, G, episode, step, state) by looking at everything."""
    scored, entry = [], 0
    for episode in episodes:
        returns = jitrl.discounted_returns([step.reward for step in episode.steps], gamma)
        for t, step in enumerate(episode.steps):
            similarity = jaccard(query.tokens, step.state.tokens)
            if weight:
                history = jaccard(query.history_tokens, step.state.history_tokens)
                similarity = (1 - weight) * similarity + weight * history
            if similarity >= r:
                scored.append(
                    (similarity, entry, step.action, float(returns[t]), episode.number, t, step.state.text)
                )
            entry += 1
    scored.sort(key=lambda one: (-one[0], -one[1]))
    return scored[:k]
