"""Methods: each turns a turn into a decision. One file a method, one line here.

A method of a package of your own is an entry point in the group `jitrl.agents` that names a `Method`:

    [project.entry-points."jitrl.agents"]
    echo = "echo_agent:METHOD"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.registry import Registry

if TYPE_CHECKING:
    from engine.agents.base import Agent, Prior
    from engine.llm.prompts import Folder
    from engine.memory.scope import Scope
    from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Method:
    """A kind of agent.

    Attributes:
        name: What `--agent` takes.
        about: One line for people.
        make: Returns an agent for one session.
        learns: Whether finished episodes go to memory, so that their steps have to be judged.
        asks_model: Whether the session's model is opened for it.
        prompts: Folders with prompts of its own; their digests are in the manifest of a run.
    """

    name: str
    about: str
    make: Callable[[Prior, Scope, Settings], Agent]
    learns: bool = False
    asks_model: bool = True
    prompts: tuple[Folder, ...] = ()


def _jitrl(prior: Prior, memory: Scope, settings: Settings) -> Agent:
    from engine.agents.jitrl import JitrlAgent
    from engine.values import make_estimator

    return JitrlAgent(prior, make_estimator(memory, settings), settings)


def _static(prior: Prior, memory: Scope, settings: Settings) -> Agent:
    from engine.agents.jitrl import JitrlAgent

    return JitrlAgent(prior, None, settings)


def _random(prior: Prior, memory: Scope, settings: Settings) -> Agent:
    from engine.agents.jitrl import JitrlAgent
    from engine.agents.random import UniformPrior

    return JitrlAgent(UniformPrior(), None, settings, name="random")


BUILT_IN = (
    Method("jitrl", "the model with its memory (Algorithm 1)", _jitrl, learns=True),
    Method("static", "the model alone; remembers nothing", _static),
    Method("random", "any valid action; the floor of every comparison", _random, asks_model=False),
)
"""The methods of this project, in the order in which they are shown."""

AGENTS = Registry("agent", Method, "jitrl.agents", BUILT_IN)
