"""Memory finds the same neighbours if a model words every summary anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import texts
from engine.environments import profile
from engine.games.states.state import GameAbstractor
from engine.llm.model import Reply
from engine.memory import Memory
from engine.memory.embeddings.semantic import SemanticMemory
from engine.memory.search import NeighbourSearch
from engine.records import Decided, Episode, ModelCall, Observation, State, Step
from engine.session import store as sessions
from engine.settings import SessionConfig
from tests.llm.scripted import Scripted, answer, kind_of, reworded, text_of
from tests.llm.server import Server
from tests.memory.test_semantic import Toy
from tests.playing import only, run
from tests.writing import writing

EPISODES, STEPS = 4, 4
HALL = Observation(
    "Hall\nA kettle and a small key lie on the bench.", "Hall\nA kettle and a small key lie on the bench.",
    "You are carrying:\n  a lamp", "Hall", 5.0,
)  # fmt: skip


def played(saves: Path, name: str, monkeypatch: pytest.MonkeyPatch, *, anew: bool) -> tuple[float, Scripted]:
    """Play the Pantry with a scripted model; return the share of decisions with neighbours, and the model."""
    config = SessionConfig(
        "pantry", "jitrl", "openai/player", EPISODES, 1, name, profile(name, step_limit=STEPS)
    )
    server = Server()
    server.default = scripted = Scripted([], anew=anew)
    with server.running():
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        session, events = run(sessions.create(saves, config, "run"), saves)
    assert session.error is None
    made = [event.decision for event in only(events, Decided)]
    return sum(bool(one.update and one.update.neighbours) for one in made) / len(made), scripted


@pytest.mark.parametrize("name", [pytest.param("paper", marks=pytest.mark.soak), "reference"])
def test_paraphrased_summaries_find_the_neighbours_that_constant_ones_find(tmp_path, monkeypatch, name):
    constant, scripted = played(tmp_path / "constant", name, monkeypatch, anew=False)
    paraphrased, _ = played(tmp_path / "paraphrased", name, monkeypatch, anew=True)
    assert constant > 0.3
    assert 0.9 * constant <= paraphrased <= 1.1 * constant
    # What the model was asked, and how: as in the paper's form or the authors' code.
    asked = {(kind, body["temperature"]) for kind, body, _ in scripted.calls if kind != "other"}
    prompts = [text_of(body["messages"][1]) for kind, body, _ in scripted.calls if kind == "actions"]
    if name == "paper":
        assert asked == {("actions", 0.8), ("state", 0), ("history", 0), ("rewards", 0)}
        assert all('"confidence1": 50' in text and "MUST differ" not in text for text in prompts)
    else:
        assert asked == {("actions", 0.8), ("history", 0), ("rewards", 0.8), ("rewards", 0)}  # 0 where it is tested
        assert all('"confidence1": 80' in text and "MUST differ" in text for text in prompts)
        assert all("[INVENTORY]" in text for text in prompts)


class Wording:
    """A model that words what the scripted player says in its own way."""

    name = "wording"

    def __init__(self, number: int) -> None:
        self._number = number

    def complete(self, question) -> Reply:
        body = {"messages": list(question.messages)}
        said = reworded(kind_of(body), answer(body), self._number)
        return Reply(said, ModelCall(question.purpose, self.name, "", said))


def worded(number: int, name: str) -> State:
    """Return the state after one step that gained points, as a session with this model has it."""
    told: list[str] = []
    model = writing(Wording(number), told, state=profile(name).state, history="llm", history_every=1,
                    history_tokens=profile(name).history_tokens, ngram=profile(name).ngram)  # fmt: skip
    abstractor = GameAbstractor().written(model)
    abstractor.begin(Observation("Hall", "Hall", "You are carrying:\n  a lamp", "Hall"))
    state = abstractor.advance("take key", HALL)
    assert told == []
    return state


@pytest.mark.parametrize("name", ["paper", "reference"])
def test_sessions_that_word_a_situation_differently_have_the_same_tokens_and_the_same_facts(name):
    one, other = worded(1, name), worded(2, name)
    assert one.history != other.history  # the prose of the two
    assert name == "reference" or one.text != other.text  # the order of the nouns
    assert one.tokens == other.tokens
    assert one.history_tokens == other.history_tokens
    assert texts.without_prose(one.history) == texts.without_prose(other.history)


def test_other_places_things_and_progress_are_other_histories():
    told = "[SUMMARY] {} [PROGRESS] ✓ M1: {} [LOCATION] Location: hall→{}\n[INVENTORY] you carry {}"
    base = texts.without_prose(told.format("The aim is gold.", "take key", "attic", "a lamp"))
    assert base == texts.without_prose(told.format("Some gold is wanted.", "take key", "attic", "a lamp"))
    for other in (("x", "take cup", "attic", "a lamp"), ("x", "take key", "cellar", "a lamp"),
                  ("x", "take key", "attic", "a cup")):  # fmt: skip
        assert base != texts.without_prose(told.format(*other))
    assert texts.without_prose("no heads here") == "no heads here"
    assert texts.without_prose("[SUMMARY] nothing else") == "[SUMMARY] nothing else"


@pytest.mark.parametrize("mode", ["hybrid", "embedding", "recall"])
def test_the_embedding_of_a_history_does_not_depend_on_its_prose(tmp_path, mode):
    def state(prose: str) -> State:
        return State("hall", ("a",), f"[SUMMARY] {prose}\n[PROGRESS] No Progress\n[LOCATION] Hall", ("h",), "Hall")

    with Memory(tmp_path) as memory:
        scope = memory.scope("game/test")
        steps = tuple(Step(state(prose), "wait", 1.0) for prose in ("The aim is gold.", "Gold, it seems."))
        scope.append(Episode("e", "game/test", steps, state("")))
        toy = Toy()
        wanted = NeighbourSearch(10, 0.9, 0.5, history_weight=0.25)
        near = SemanticMemory(scope, mode, toy).retrieve(state("Riches!"), wanted)
    assert [one.similarity for one in near] == pytest.approx([1.0, 1.0])
    assert sorted(set(toy.embedded)) == ["[PROGRESS] No Progress\n[LOCATION] Hall", "hall"]
