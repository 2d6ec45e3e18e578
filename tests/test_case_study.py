"""The paper's case studies on Jericho, rebuilt in a shipped game: which way memory moves the logits, and how far.

In the table, memory adds 1.2 to the action that pays and takes .5 or .6 from the one that the model prefers. With the
advantage normalised by its largest absolute value, that is what Algorithm 1 gives for beta = 1.2 where the action that
pays was taken in 5 of 17 (or in one of three) neighbours.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.bench.published import read_published
from engine.environments import profile
from engine.games.catalogue import open_game
from engine.games.states.state import GameAbstractor
from engine.llm.model_factory import open_remote
from engine.memory import Memory
from engine.records import Candidate, Episode, Proposal, Step
from engine.values import make_estimator
from tests.llm.scripted import player
from tests.llm.server import Server
from tests.writing import writing

BASES = read_published("jericho_case_study").rows
PAID = [(3, 10), (3, 10), (3, 9)]
"""Neighbours that took the action that pays, of how many; the paper does not say."""


class Proposing:
    def __init__(self, *candidates: Candidate) -> None:
        self._candidates = candidates

    def propose(self, request, rng):
        return Proposal(self._candidates)


@pytest.mark.parametrize(("wrong", "right", "neighbours"), zip(BASES[::2], BASES[1::2], PAID, strict=True))
def test_memory_moves_the_logits_as_in_the_table(tmp_path, wrong, right, neighbours):
    (bad, bad_after), (good, good_after), (paid, of) = wrong.values, right.values, neighbours
    settings = profile("paper")
    environment = open_game("pantry")
    with Server().running() as server, Memory(tmp_path) as memory:
        server.default = player
        model = open_remote("openai/player", settings, None, {"OPENAI_API_BASE": server.base})
        seen = environment.reset(1)
        valid = environment.valid_actions()
        pays, preferred = valid[0], valid[1]
        state = GameAbstractor().written(writing(model, [], state="llm")).begin(seen)
        scope = memory.scope(environment.info.scope)
        for number in range(of):
            action, reward = (pays, 5.0) if number < paid else (preferred, 0.0)
            step = Step(state, action, reward, valid_actions=valid)
            scope.append(Episode(f"e{number}", scope.name, (step,), state))
        prior = Proposing(
            Candidate(preferred, bad, confidence=100 * bad), Candidate(pays, good, confidence=100 * good)
        )
        agent = JitrlAgent(prior, make_estimator(scope, settings), settings)
        agent.begin_episode(state)
        turn = Turn(0, 60, seen, state, valid, episode=7, episodes=50)
        decision = agent.decide(turn, np.random.default_rng(1))
        model.close()
    environment.close()
    assert len(decision.update.neighbours) == of  # found by the hybrid retrieval of the appendix
    z = {c.action: (c.z, after) for c, after in zip(decision.candidates, decision.update.z_prime, strict=True)}
    assert z[preferred] == pytest.approx((bad, bad_after), abs=0.02)
    assert z[pays] == pytest.approx((good, good_after), abs=0.02)
    named = [c.action for c in decision.candidates]
    before, after = decision.prior, decision.posterior
    assert before[named.index(preferred)] > before[named.index(pays)]
    assert after[named.index(pays)] > 0.7
