"""Who goes to and fro between the same few situations without a gain does something else after a while."""

from __future__ import annotations

from engine.records import State
from engine.values.graph import GraphEstimator
from tests.values.gridworld import live
from tests.values.planning import NUMBERS
from tests.values.test_graph import SETTINGS, SETTLED, play, remembered

COINS = tuple(f"coin {number}" for number in range(8))


class Turned:
    """A yard before a vault with many coins. Where it is turned, its way in leads back to the hall."""

    died = done = False

    def __init__(self, turned=False):
        self.turned = turned

    def reset(self):
        self.at, self.score, self.taken = "hall", 0.0, set()
        return self.state()

    def state(self):
        lying = [f"see:{coin}" for coin in COINS if self.at == "vault" and coin not in self.taken]
        tokens = (f"place:{self.at}", *lying, *(f"have:{coin}" for coin in sorted(self.taken)))
        return State(" ".join(tokens), tuple(sorted(tokens)), place=self.at)

    def valid(self):
        there = {"hall": ("go", "sing"), "yard": ("go", "sing"), "vault": ()}[self.at]
        return (*there, *(f"take {coin}" for coin in COINS if self.at == "vault" and coin not in self.taken))

    def step(self, action):
        before = self.score
        if action == "go":
            self.at = "yard" if self.at == "hall" else "hall" if self.turned else "vault"
        elif action != "sing":
            self.taken.add(action.removeprefix("take "))
            self.score += 1.0
        return self.state(), self.score - before


def test_who_goes_to_and_fro_without_a_gain_does_something_else_after_a_while():
    lived = [live(Turned(), ["go", "go", f"take {coin}"]) for coin in COINS]
    estimator, world = GraphEstimator(remembered(*lived), SETTLED), Turned(turned=True)
    actions, _ = play(estimator, world, 40, settings=SETTLED)
    assert actions[:2] == ["go", "go"], "it does not even try the way that it knows"
    assert actions.index("sing") <= 2 * NUMBERS.patience, "it goes to and fro for each of the coins"


class Ended:
    """Rooms in a ring, with a bell in each. It is worth 5 points, and whatever is done after it ends the game."""

    died = done = False

    def reset(self):
        self.at, self.score, self.rung, self.done = 0, 0.0, False, False
        return self.state()

    def state(self):
        token = "place:tower" if self.rung else f"place:cell {self.at}"
        return State(token, (token,), place=token.removeprefix("place:"))

    def valid(self):
        return ("wait", "wave") if self.rung else ("ring bell", "left", "right")

    def step(self, action):
        before, self.done = self.score, self.rung
        if action == "ring bell":
            self.rung, self.score = True, 5.0
        elif not self.rung:
            self.at = (self.at + (1 if action == "left" else -1)) % 3
        return self.state(), self.score - before


def test_a_gain_after_which_everything_was_done_is_not_had_again_in_the_same_way():
    estimator, lived = GraphEstimator((), SETTINGS), list[tuple[str, ...]]()
    for _ in range(16):
        actions, score = play(estimator, Ended(), 6, most=25.0)
        assert score == 5.0
        lived.append(tuple(actions))
    repeated = [number for number, actions in enumerate(lived) if actions in lived[:number]]
    assert len(repeated) < 5, "the run is frozen: the same few episodes again and again"
