"""Retrieval by embeddings is exact in every mode, keeps up with the memory, and downloads nothing."""

from __future__ import annotations

import importlib.util
import itertools
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import MissingError, UsageError
from engine.jitrl import discounted_returns, own_returns
from engine.memory import Memory
from engine.memory.embeddings.embedding import open_embedder
from engine.memory.embeddings.semantic import MODES, SemanticMemory
from engine.memory.exact.entries import Entries
from engine.memory.search import NeighbourSearch
from engine.memory.upkeep import forget, plan_forget
from engine.records import Episode, Neighbour, State, Step
from engine.settings import Settings
from engine.values.knn import KnnEstimator, retriever
from tests.examples import most
from tests.memory.lives import jaccard, make_episode, make_state
from tests.memory.test_index import document

NAME = "game/test"
CORNERS = [one for one in itertools.product((-1.0, 0.0, 1.0), repeat=4) if sum(map(abs, one)) in (1.0, 4.0)]
"""Directions whose cosines are exact: 0, halves and ones, so that many are equal."""


class Toy:
    """An embedder of few directions; counts what it is asked."""

    name = "toy"
    dimensions = 4

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded += texts
        return np.array([corner(text) for text in texts], np.float32)


def corner(text: str) -> tuple[float, ...]:
    if not text.strip("."):
        return (0.0,) * 4
    chosen = CORNERS[blake2b(text.encode()).digest()[0] % len(CORNERS)]
    size = math.sqrt(sum(map(abs, chosen)))
    return tuple(one / size for one in chosen)


def cosine(one: str, other: str) -> float:
    a, b = corner(one), corner(other)
    if not any(a) or not any(b):
        return float(not any(a) and not any(b))
    return sum(x * y for x, y in zip(a, b, strict=True))


TEXTS = ("hall", "cellar", "kitchen of the house", "attic", "", "...")
TOKENS = (("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c", "d"), ("e",), (), ("a", "x", "y", "z"))
HISTORIES = ("", "came from hall", "took lamp", "...", "took lamp again")
HISTORY_TOKENS = (("h",), ("h", "i"), (), ("j",))
STATES = st.builds(
    State,
    st.sampled_from(TEXTS),
    st.sampled_from(TOKENS),
    st.sampled_from(HISTORIES),
    st.sampled_from(HISTORY_TOKENS),
)
STEPS = st.builds(Step, STATES, st.sampled_from(("go", "wait")), st.sampled_from((-1.0, 0.0, 0.0, 2.5)))
EPISODES = st.lists(st.lists(STEPS, min_size=1, max_size=8), min_size=1, max_size=6)


def own_by_hand(rewards: Sequence[float], gamma: float) -> list[float]:
    found = []
    for t in range(len(rewards)):
        total = 0.0
        for u in range(t, len(rewards)):
            total += gamma ** (u - t) * (rewards[u] if rewards[u] != 0 else rewards[t])
        found.append(total)
    return found


def brute(
    episodes: Sequence[Sequence[Step]], gone: set[int], query: State, mode: str, *, k: int, r: float, w: float,
    floor: float, keep_above: float, ties: str, own: bool, gamma: float,
) -> list[tuple[int, float, float]]:  # fmt: skip
    """Return (entry, similarity, G) by looking at everything."""
    rows: list[tuple[int, Step, float]] = []
    for steps in episodes:
        rewards = [step.reward for step in steps]
        returns = own_by_hand(rewards, gamma) if own else discounted_returns(rewards, gamma)
        for step, g in zip(steps, returns, strict=True):
            rows.append((len(rows), step, float(g)))
    rows = [row for row in rows if row[0] not in gone]

    def nearest(of: str) -> set[int]:
        scored = [(cosine(getattr(query, of), getattr(step.state, of)), entry) for entry, step, _ in rows]
        return {entry for _, entry in sorted(scored, reverse=True)[: max(10 * k, 100)]}

    recalled = nearest("text") | nearest("history") if mode == "recall" else set()
    found = []
    for entry, step, g in rows:
        alike = jaccard(query.tokens, step.state.tokens)
        if mode in ("recall", "jaccard"):
            history = jaccard(query.history_tokens, step.state.history_tokens)
            score = (1 - w) * alike + w * history if w else alike
        else:
            score = (1 - w) * cosine(query.text, step.state.text) + w * cosine(
                query.history, step.state.history
            )
        if mode == "recall" and entry not in recalled:
            continue
        if (alike if mode == "hybrid" else score) < r or (floor > 0 and alike <= floor):
            continue
        found.append((entry, score, g))
    found.sort(key=lambda one: (-one[1], -one[2] if ties == "return" else 0.0, -one[0]))
    kept = sum(score >= keep_above for _, score, _ in found) if keep_above > 0 else 0
    return found[: max(k, kept)]


def shown(found: Sequence[Neighbour]) -> list[tuple[int, float, float]]:
    return [(one.entry, one.similarity, pytest.approx(one.g, abs=1e-9)) for one in found]


@settings(max_examples=most(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EPISODES, EPISODES, st.data())
def test_every_mode_finds_what_looking_at_everything_finds(
    before: list[list[Step]], after: list[list[Step]], data: st.DataObject
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder)) as memory,
        Memory(Path(folder)) as other,
    ):
        scope = memory.scope(NAME)
        searches = {mode: SemanticMemory(scope, mode, Toy()) for mode in MODES}
        lived: list[list[Step]] = []
        gone: set[int] = set()

        def check() -> None:
            for mode in ("jaccard", *MODES):
                query = data.draw(STATES)
                how = {
                    "k": data.draw(st.sampled_from((1, 2, 5, 100))),
                    "keep_above": data.draw(st.sampled_from((0.0, 0.0, 0.5, 1.0))),
                    "ties": data.draw(st.sampled_from(("newest", "return"))),
                    "gamma": data.draw(st.sampled_from((0.0, 0.5, 1.0))),
                    "r": data.draw(st.sampled_from((0.0, 0.25, 0.5, 0.75, 1.0))),
                }
                w = data.draw(st.sampled_from((0.0, 0.25, 0.3, 1.0)))
                floor = data.draw(st.sampled_from((0.0, 0.0, 0.2, 0.5)))
                own = data.draw(st.booleans())
                memory = searches.get(mode, scope)
                found = memory.neighbours(
                    query, history_weight=w, state_floor=floor, zero_rewards="own" if own else "zero", **how
                )
                want = brute(lived, gone, query, mode, w=w, floor=floor, own=own, **how)
                assert want == shown(found)

        check()
        for turn, (batch, writer) in enumerate(((before, scope), (after, other.scope(NAME)))):
            for number, steps in enumerate(batch):
                writer.append(Episode(f"{turn}.{number}", NAME, tuple(steps), State("end", ("end",))))
                lived.append(steps)
            check()
            count = sum(map(len, lived))
            chosen = data.draw(st.sets(st.integers(0, count - 1), max_size=3)) - gone
            if chosen:
                forget(writer, plan_forget(writer, entries=chosen), f"op{turn}")
                gone |= chosen
            check()


@pytest.mark.parametrize("mode", MODES)
def test_real_embeddings_find_what_looking_at_every_vector_finds(tmp_path: Path, mode: str) -> None:
    rng, embedder = random.Random(3), open_embedder()
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        scope.append_all([make_episode(rng, f"u{number}", 20) for number in range(12)])
        search = SemanticMemory(scope, mode, embedder)
        steps = [step for episode in scope.episodes() for step in episode.steps]

        texts, histories = [[getattr(step.state, of) for step in steps] for of in ("text", "history")]
        of_texts, of_histories = (embedder.embed(these).astype(float) for these in (texts, histories))

        def cosines(one: str, others: list[str], vectors: np.ndarray) -> np.ndarray:
            if not one:
                return np.array([float(not other) for other in others])
            return np.round((embedder.embed([one])[0].astype(float) * vectors).sum(axis=1), 6)

        for _ in range(8):
            query = make_state(rng)
            k, w, r = rng.choice((1, 3, 10)), rng.choice((0.0, 0.25, 0.7)), rng.choice((0.0, 0.5, 0.8))
            near = cosines(query.text, texts, of_texts)
            past = cosines(query.history, histories, of_histories)
            alike = np.array([jaccard(query.tokens, step.state.tokens) for step in steps])
            score = (1 - w) * near + w * past
            keep = (alike if mode == "hybrid" else score) >= r
            if mode == "recall":
                order = np.arange(len(steps))
                recalled = {*np.lexsort((order, near))[-max(100, 10 * k) :]}
                recalled |= {*np.lexsort((order, past))[-max(100, 10 * k) :]}
                history = [jaccard(query.history_tokens, step.state.history_tokens) for step in steps]
                score = (1 - w) * alike + w * np.array(history) if w else alike
                keep = (score >= r) & np.isin(order, list(recalled))
            rows = np.flatnonzero(keep)
            best = rows[np.lexsort((rows, score[rows]))[::-1][:k]]
            found = search.neighbours(query, k=k, r=r, gamma=0.5, history_weight=w)
            assert [(n.entry, n.similarity) for n in found] == [(int(i), float(score[i])) for i in best]


@given(
    st.lists(st.sampled_from((-2.0, 0.0, 0.0, 1.0, 3.5)), max_size=12),
    st.sampled_from((0.0, 0.1, 0.5, 0.99, 1.0)),
)
def test_own_returns_are_those_of_the_double_loop(rewards: list[float], gamma: float) -> None:
    assert own_returns(rewards, gamma).tolist() == pytest.approx(own_by_hand(rewards, gamma), abs=1e-9)
    if rewards:
        entries = Entries()
        for uid in range(2):
            made = document(uid, uid * len(rewards), [(["a"], [])] * len(rewards))
            for step, reward in zip(made["steps"], rewards, strict=True):  # type: ignore[call-overload]
                step["reward"] = reward
            entries.add(uid, made, 0, b"")
            assert entries.returns(gamma).tolist()[-len(rewards) :] == pytest.approx(
                discounted_returns(rewards, gamma).tolist()
            )
            want = own_by_hand(rewards, gamma)
            assert entries.returns(gamma, own=True).tolist()[-len(rewards) :] == pytest.approx(want, abs=1e-9)


def test_each_text_is_embedded_once_and_a_forgotten_one_is_kept_nowhere(tmp_path: Path) -> None:
    rng, toy = random.Random(1), Toy()
    with Memory(tmp_path) as memory, Memory(tmp_path) as other:
        scope, query = memory.scope(NAME), make_state(random.Random(9))
        search = SemanticMemory(scope, "hybrid", toy)
        read: list[int] = []
        plain = scope.journal.document
        scope.journal.document = lambda table, doc_id: read.append(doc_id) or plain(table, doc_id)  # type: ignore

        def ask() -> list[int]:
            read.clear()
            search.neighbours(query, k=3, r=0.0, gamma=0.5)
            return sorted(set(read))

        scope.append_all([make_episode(rng, f"u{number}") for number in range(5)])
        assert ask() == [1, 2, 3, 4, 5]
        assert ask() == []
        other.scope(NAME).append(make_episode(rng, "u5"))
        assert ask() == [6]
        texts = {step.state.text for episode in scope.episodes() for step in episode.steps}
        asked = [text for text in toy.embedded if text not in (query.text, query.history)]
        assert len(asked) == len(set(asked))
        assert search.counts()["states"] == len(texts)
        only = {step.state.text for step in scope.episode("u2").steps} - {
            step.state.text for episode in scope.episodes() if episode.uid != "u2" for step in episode.steps
        }
        forget(scope, plan_forget(scope, episodes=["u2"]), "op")
        toy.embedded.clear()
        assert ask() == [1, 2, 4, 5, 6]
        assert set(toy.embedded) <= {query.text, query.history}
        assert search.counts()["states"] == len(texts) - len(only)
        assert [episode.uid for episode in scope.episodes()] == ["u0", "u1", "u3", "u4", "u5"]


def test_a_search_that_was_cut_short_in_the_middle_of_learning_begins_anew(tmp_path: Path) -> None:
    class Failing(Toy):
        fails = True

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if self.fails and len(texts) > 1:
                raise KeyboardInterrupt
            return super().embed(texts)

    with Memory(tmp_path) as memory:
        scope, embedder = memory.scope(NAME), Failing()
        scope.append(make_episode(random.Random(1), "u"))
        query = next(scope.episodes()).steps[3].state
        search = SemanticMemory(scope, "embedding", embedder)
        with pytest.raises(KeyboardInterrupt):
            search.neighbours(query, k=99, r=0.0, gamma=0.5)
        embedder.fails = False
        want = SemanticMemory(scope, "embedding", Toy()).neighbours(query, k=99, r=0.0, gamma=0.5)
        assert search.neighbours(query, k=99, r=0.0, gamma=0.5) == want != ()


def test_steps_of_a_damaged_episode_are_left_out(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        scope.append_all([make_episode(random.Random(number), f"u{number}") for number in range(3)])
        data = scope.path.read_bytes()
        at = data.index(b'"uid":"u1"' if b'"uid":"u1"' in data else b'"uid": "u1"')
        scope.path.write_bytes(data[:at] + b"X" + data[at + 1 :])
        found = SemanticMemory(scope, "embedding", Toy()).neighbours(
            make_state(random.Random(5)), k=99, r=-1.0, gamma=0.5
        )
        assert {one.episode for one in found} == {1, 3}


def test_vectors_have_length_1_and_depend_on_the_text_alone() -> None:
    embedder = open_embedder()
    assert open_embedder() is embedder
    texts = ["A lamp, a sword.", "", " ?! ", "Ünïcode: 東京 \ud800", "x", "lamp " * 5000, "\x00 a"]
    rows = embedder.embed(texts)
    assert rows.shape == (7, embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 0, 1, 1, 1, 1], abs=1e-6)
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(embedder.embed([text])[0], row)
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    many = [f"text {number}" for number in range(600)]
    assert np.array_equal(embedder.embed(many)[::-1], embedder.embed(many[::-1]))


def test_wordllama_knows_what_is_alike_and_ignores_the_order_of_words() -> None:
    embedder = open_embedder()
    field, same, kitchen = embedder.embed(
        [
            "You are in an open field west of a house",
            "a meadow on the western side of a building",
            "a table, an oven",
        ]
    )
    assert field @ same > field @ kitchen + 0.1
    one, other = embedder.embed(["see lamp sword", "see sword lamp"])
    assert np.array_equal(one, other)


def test_nothing_is_downloaded_and_the_packages_own_code_is_not_run() -> None:
    code = """
import socket, sys, logging
def no(*args, **more): raise SystemExit("the network was used")
socket.socket.connect = socket.getaddrinfo = no
import engine, engine.memory.embeddings.semantic
assert not {"tokenizers", "wordllama"} & set(sys.modules)
from engine.memory.embeddings.embedding import open_embedder
open_embedder().embed(["a lamp"])
assert not {"wordllama", "requests", "huggingface_hub"} & set(sys.modules)
assert not logging.getLogger().handlers
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_package_one_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_embedder.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"wordllama, for .*, is not installed; .*: jitrl up semantic"):
        open_embedder()
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        assert retriever(scope, Settings()) is scope
        with pytest.raises(MissingError):
            retriever(scope, Settings(retrieval="hybrid"))
    with pytest.raises(UsageError):
        SemanticMemory(scope, "jaccard", Toy())


def test_weights_of_another_kind_are_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = importlib.util.find_spec("wordllama")
    assert found is not None
    monkeypatch.setattr(found, "submodule_search_locations", [str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    weights = tmp_path / "weights" / "l2_supercat_256.safetensors"
    weights.parent.mkdir()
    for content in (None, b"", b"\xff" * 64, (2).to_bytes(8, "little") + b"{}"):
        if content is not None:
            weights.write_bytes(content)
        open_embedder.cache_clear()
        with pytest.raises(MissingError, match=r"wordllama, .*, does not load \(.*\); .*: jitrl up semantic"):
            open_embedder()
    open_embedder.cache_clear()


def test_the_least_similarity_falls_with_the_steps_of_the_running_episode() -> None:
    asked: list[NeighbourSearch] = []

    class Remembering:
        def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
            asked.append(search)
            return ()

    state = make_state(random.Random(1))
    step = Step(state, "wait", 0.0)
    estimator = KnnEstimator(
        Remembering(),
        Settings(relax=0.1, keep_above=0.98, ties="return", zero_rewards="own"),  # type: ignore[arg-type]
    )
    for _ in range(2):
        estimator.begin_episode(state)
        for _ in range(Settings().relax_steps + 3):
            estimator.neighbours(state)
            estimator.observe(step, state, terminated=False, lost=False)
    falling = [0.95 - 0.1 * min(step, 20) / 20 for step in range(Settings().relax_steps + 3)]
    assert [how.r for how in asked] == pytest.approx(falling * 2)
    assert {(how.keep_above, how.ties, how.zero_rewards) for how in asked} == {(0.98, "return", "own")}
    estimator = KnnEstimator(Remembering(), Settings(r=0.2, relax=1.0))  # type: ignore[arg-type]
    for _ in range(Settings().relax_steps):
        estimator.observe(step, state, terminated=False, lost=False)
    estimator.neighbours(state)
    assert asked[-1].r == 0.0
