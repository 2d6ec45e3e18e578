"""The paper's two-stage retrieval, against a computation that goes through everything."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from engine.environments import profile
from engine.errors import ModelError
from engine.memory import Memory
from engine.records import Episode, Observation, State, Step, Trajectory
from engine.values.knn import KnnEstimator
from engine.web.browser.url import pattern
from engine.web.evaluator import WebEvaluator
from engine.web.states.state import WebAbstractor, words
from tests.writing import writing

PLACES = ("shop/catalogue", "shop/catalogue/SLUG", "shop/basket")
INTENTS = (
    "Add the blue kettle to the basket",
    "Add the red kettle to the basket",
    "Add two mugs to the basket",
    "How many reviews has the blue kettle",
    "Open the cheapest headphones",
)
ACTIONS = ("click(<link[Kettles]>)", "select_option(<combobox[Sort by:]>, 'Price')", "click(<button[Add]>)",
           "fill(<textbox[Search]>, 'kettle')")  # fmt: skip


def lived(rng):
    """Return (place, intent, words of the local history, state) of a random walk's end, by the abstractor itself."""
    intent, place = str(rng.choice(INTENTS)), str(rng.choice(PLACES))
    abstractor = WebAbstractor(lambda: intent, lambda: ())
    state = abstractor.begin(Observation("x", place=place))
    spoken = []
    for action in rng.choice(ACTIONS, size=int(rng.integers(0, 4)), replace=False):
        state = abstractor.advance(str(action), Observation("x", place=place))
        spoken.append(str(action))
    count = Counter(re.findall(r"[a-z]+", " ".join(spoken).lower()))
    return place, intent, frozenset((word, n) for word, times in count.items() for n in range(times)), state


def jaccard(a, b):
    return 1.0 if not a | b else len(a & b) / len(a | b)


@pytest.mark.parametrize("r", [0.8, 0.7, 0.45])
def test_same_page_then_task_then_history_and_task_as_by_brute_force(tmp_path, r):
    rng = np.random.default_rng(5)
    settings = profile("default", "web", r=r)
    entries = []
    with Memory(tmp_path) as memory:
        scope = memory.scope("web/shop")
        for number in range(60):
            steps = []
            for t in range(5):
                place, intent, history, state = lived(rng)
                reward = float(rng.integers(-3, 4))
                steps.append(Step(state, ACTIONS[t % 4], reward))
                entries.append((place, intent, history, reward))
            scope.append(Episode(f"e{number}", "web/shop", tuple(steps), State("end", ("end",))))
        estimator = KnnEstimator(scope, settings)
        found_any, stopped_by_task = 0, 0
        for _ in range(20):
            place, intent, history, state = lived(rng)
            expected = []
            for i, (place_i, intent_i, history_i, _) in enumerate(entries):
                task = jaccard(set(words(intent)), set(words(intent_i)))
                if place_i != place:
                    continue
                score = 0.7 * jaccard(history, history_i) + 0.3 * task
                if task <= 0.27:
                    stopped_by_task += score >= r
                    continue
                if score >= r - 1e-12:
                    expected.append((round(score, 9), i))
            best = sorted(expected, key=lambda e: (-e[0], -e[1]))[:10]
            found = [(round(n.similarity, 9), n.entry) for n in estimator.neighbours(state)]
            # Sums of unlike parts that are equal on paper may differ in their last bit, and so in order.
            assert [score for score, _ in found] == [score for score, _ in best]
            assert set(found) <= set(expected)
            found_any += len(found)
        assert found_any > 25
        # At .8 the second stage lets nothing pass that the first one stops; below, the first one is needed.
        assert (stopped_by_task > 0) == (r <= 0.7)


def test_returns_are_discounted_by_a_tenth(tmp_path):
    rng = np.random.default_rng(1)
    *_, state = lived(rng)
    with Memory(tmp_path) as memory:
        scope = memory.scope("web/shop")
        steps = tuple(
            Step(state, action, reward) for action, reward in zip(ACTIONS, (1, -2, 3, 0), strict=True)
        )
        scope.append(Episode("e", "web/shop", steps, state))
        found = {n.action: n.g for n in KnnEstimator(scope, profile("default", "web")).neighbours(state)}
    assert found == pytest.approx(
        {ACTIONS[0]: 1 - 0.2 + 0.03, ACTIONS[1]: -2 + 0.3, ACTIONS[2]: 3, ACTIONS[3]: 0}
    )


def test_the_profile_has_the_papers_values():
    s = profile("default", "web")
    assert (s.gamma, s.k, s.r, s.task_threshold, s.history_weight) == (0.1, 10, 0.8, 0.27, 0.7)
    assert s.other_tasks == "lifted"  # The one value that is not the paper's.
    assert (s.lam, s.alpha, s.step_limit, s.candidates, s.temperature) == (0.05, 5, 10, 3, 0.8)


def after(*actions):
    """Return the state after these actions on one page."""
    abstractor = WebAbstractor(lambda: "Enter the word twice and submit", lambda: ())
    state = abstractor.begin(Observation("x", place="miniwob/enter-password.html"))
    for action in actions:
        state = abstractor.advance(action, Observation("x", place="miniwob/enter-password.html"))
    return state


def test_half_of_what_is_to_be_done_is_another_state_than_all_of_it(tmp_path):
    first, second = "fill(<textbox[]#1>, 'word')", "fill(<textbox[]#2>, 'word')"
    submit = "click(<button[Submit]>)"
    with Memory(tmp_path) as memory:
        scope = memory.scope("web/miniwob")
        steps = (
            Step(after(), first, 0.0),
            Step(after(first), second, 0.0),
            Step(after(first, second), submit, 3.0),
        )
        scope.append(Episode("e1", "web/miniwob", steps, State("end", ("end",))))
        estimator = KnnEstimator(scope, profile("default", "web"))
        assert [n.action for n in estimator.neighbours(after(first))] == [second]
        assert [n.action for n in estimator.neighbours(after(first, second))] == [submit]
        assert [n.action for n in estimator.neighbours(after(second))] == []  # the other box is not this one


def test_pages_of_miniwob_are_called_what_they_are_and_things_for_sale_are_not():
    sites = {"miniwob": "http://127.0.0.1:9/miniwob", "shopping": "http://127.0.0.1:8"}
    assert (
        pattern("http://127.0.0.1:9/miniwob/click-checkboxes.html", sites) == "miniwob/click-checkboxes.html"
    )
    assert pattern("http://127.0.0.1:8/blue-enamel-kettle.html", sites) == "shopping/SLUG.html"


def test_a_page_with_a_random_key_in_its_address_is_the_same_kind_of_page_in_each_episode():
    sites = {"shopping": "http://127.0.0.1:8"}

    def kinds(*parts):
        return {pattern(f"http://127.0.0.1:8/lists/{part}/", sites) for part in parts}

    assert kinds("0fk3s1", "fs6gl2", "80wt6r") == {"shopping/lists/HASH"}  # three wish lists of the shop
    words = ("reports", "iphone15", "24hours", "mp3", "2fa")
    assert kinds(*words) == {f"shopping/lists/{word}" for word in words}


def test_the_query_of_a_page_counts_or_is_dropped():
    def reached(**settings):
        made = WebAbstractor(lambda: "Find it", lambda: ("page=2",)).written(writing(None, [], **settings))
        made.begin(Observation("x", place="shop/list"))
        return made.advance("click(<link[Next]>)", Observation("x", place="shop/list?page"))

    kept, dropped = reached(), reached(page_query="dropped")
    assert (kept.place, dropped.place) == ("shop/list?page", "shop/list")
    assert {"page", "2"} <= set(kept.history_tokens)
    assert "2" not in dropped.history_tokens
    assert "next" in dropped.history_tokens  # the page is the same one, and so is the visit
    assert profile("reference", "web").page_query == "dropped"


def test_a_judge_of_the_web_is_asked_at_its_temperature():
    asked = []

    class Judge:
        name = "judge"
        reading = "verbalized"

        def complete(self, question):
            asked.append(question.temperature)
            raise ModelError("no")

    step = Step(after(), "noop()", 0.0)
    trajectory = Trajectory((step,), after(), ("x", "y"))
    for name in ("paper", "reference"):
        WebEvaluator(profile(name, "web"), Judge()).rewards(trajectory)
    assert asked == [0.0, 0.3]
