"""One file a method; each turns a turn into a decision."""

from __future__ import annotations

from engine.agents.base import Agent, Prior
from engine.errors import UsageError
from engine.settings import Settings
from engine.values.base import Estimator
from engine.values.graph import EpisodicMemory

AGENTS = {
    "jitrl": "the frozen model with its logits adjusted by memory (Algorithm 1)",
    "static": "the frozen model alone; remembers nothing",
    "random": "any valid action; the floor of every comparison",
}


def make_agent(name: str, prior: Prior, memory: EpisodicMemory, settings: Settings) -> Agent:
    """Return the agent called `name`.

    Raises:
        UsageError: There is no such agent.
    """
    from engine.agents.jitrl import JitrlAgent
    from engine.agents.random import UniformPrior

    if name == "jitrl":
        return JitrlAgent(prior, _estimator(memory, settings), settings)
    if name == "static":
        return JitrlAgent(prior, None, settings)
    if name == "random":
        agent = JitrlAgent(UniformPrior(), None, settings)
        agent.name = "random"
        return agent
    raise UsageError(f"there is no agent {name!r}; choose one of: {', '.join(AGENTS)}")


def _estimator(memory: EpisodicMemory, settings: Settings) -> Estimator:
    if settings.other_tasks == "lifted" and settings.estimator == "knn":
        from engine.values.knn import KnnEstimator, retriever
        from engine.web.states.lifting import LiftedMemory

        return KnnEstimator(LiftedMemory(retriever(memory, settings)), settings)
    from engine.values import make_estimator

    return make_estimator(memory, settings)
