"""A scope remembers, retrieves like brute force, and persists."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine import jitrl
from engine.memory import Memory
from engine.records import Episode, State, Step


def jaccard(a: tuple[str, ...], b: tuple[str, ...]) -> float:
    one, two = set(a), set(b)
    return len(one & two) / len(one | two) if one | two else 1.0


def make_state(rng: random.Random, rooms: int = 5, words: int = 12) -> State:
    room = rng.randrange(rooms)
    tokens = {f"room{room}w{i}" for i in range(words)} | {
        f"item{rng.randrange(4)}" for _ in range(rng.randrange(3))
    }
    history = {f"h{rng.randrange(6)}" for _ in range(rng.randrange(5))}
    return State(f"[Room {room}: {', '.join(sorted(tokens))}]", tuple(sorted(tokens)),
                 " ".join(sorted(history)), tuple(sorted(history)), f"Room {room}")  # fmt: skip


def make_episode(rng: random.Random, uid: str, steps: int = 8) -> Episode:
    lived = tuple(
        Step(make_state(rng), f"go {rng.randrange(3)}", rng.choice([-1.0, 0.0, 2.5]), float(rng.randrange(3)),
             float(t), valid_actions=("go 0", "go 1"), world_hash=f"w{rng.randrange(9)}")
        for t in range(steps)
    )  # fmt: skip
    return Episode(
        uid, "game/test", lived, make_state(rng), agent="jitrl", model="m", seed=3, score=4.0, max_score=9.0
    )


@pytest.fixture
def memory(tmp_path: Path):
    with Memory(tmp_path / "memory") as memory:
        yield memory


def test_what_is_appended_comes_back_whole(memory: Memory, tmp_path: Path) -> None:
    rng = random.Random(1)
    scope = memory.scope("game/test")
    sent = [make_episode(rng, f"u{i}") for i in range(4)]
    assert [scope.append(one) for one in sent] == [8] * 4
    assert len(scope) == 32
    back = list(scope.episodes())
    assert [one.number for one in back] == [1, 2, 3, 4]
    assert [(one.steps, one.final, one.uid, one.max_score) for one in back] == [
        (one.steps, one.final, one.uid, one.max_score) for one in sent
    ]
    with Memory(tmp_path / "memory") as other:
        assert list(other.scope("game/test").episodes()) == back
        assert other.scopes() == ["game/test"]


def test_neighbours_are_those_of_brute_force(memory: Memory) -> None:
    rng = random.Random(2)
    scope = memory.scope("game/test")
    lived = []
    for number in range(1, 30):
        episode = make_episode(rng, f"u{number}", rng.randrange(1, 9))
        scope.append(episode)
        returns = jitrl.discounted_returns([step.reward for step in episode.steps], 0.5)
        lived += [(s, g, number, t) for t, (s, g) in enumerate(zip(episode.steps, returns, strict=True))]
    for trial in range(200):
        query = make_state(rng)
        k, r, w = (
            rng.choice([1, 3, 10, 500]),
            rng.choice([0.0, 0.3, 0.8, 0.95, 1.0]),
            rng.choice([0.0, 0.25, 0.7, 1.0]),
        )
        scored = []
        for row, (step, g, number, t) in enumerate(lived):
            s = jaccard(query.tokens, step.state.tokens)
            whole = (1 - w) * s + w * jaccard(query.history_tokens, step.state.history_tokens) if w else s
            if whole >= r:
                scored.append((-whole, -row, step, g, number, t))
        scored.sort(key=lambda one: one[:2])
        found = scope.neighbours(query, k=k, r=r, gamma=0.5, history_weight=w)
        want = [(-a, -b, s.action, g, n, t, s.state.text) for a, b, s, g, n, t in scored[:k]]
        assert [(n.similarity, n.entry, n.action, n.g, n.episode, n.step, n.state) for n in found] == want, (
            trial
        )


def test_an_episode_sent_twice_is_stored_once(memory: Memory) -> None:
    scope = memory.scope("game/test")
    episode = make_episode(random.Random(3), "same")
    assert (scope.append(episode), scope.append(episode), len(scope)) == (8, 0, 8)
