"""The methods that agents can follow. Each is a file in this folder and a line in `BUILT_IN`.

A package of your own adds a method with an entry point in the group `jitrl.agents` that names a `Method`:

    [project.entry-points."jitrl.agents"]
    echo = "echo_agent:METHOD"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.registry import Registry

if TYPE_CHECKING:
    from engine.agents.base import Agent, AgentContext
    from engine.llm.prompts import Folder


@dataclass(frozen=True, slots=True)
class Method:
    """A kind of agent.

    Attributes:
        name: The name that the option `--agent` takes.
        about: A description for people, one line.
        make: Returns an agent for one session.
        learns: Whether finished episodes are judged and stored in memory. A method can use `AgentContext.kept` in
            either case.
        asks_model: Whether the agent needs the session's model.
        prompts: Folders with the method's own prompts. Their digests are written to the manifest of a run.
    """

    name: str
    about: str
    make: Callable[[AgentContext], Agent]
    learns: bool = False
    asks_model: bool = True
    prompts: tuple[Folder, ...] = ()


def _jitrl(context: AgentContext) -> Agent:
    from engine.agents.jitrl import JitrlAgent
    from engine.values import make_estimator

    estimator = make_estimator(context.memory, context.settings, context.before)
    return JitrlAgent(context.model, estimator, context.settings)


def _static(context: AgentContext) -> Agent:
    from engine.agents.static import StaticAgent

    return StaticAgent(context.model, context.settings)


def _random(context: AgentContext) -> Agent:
    from engine.agents.random import UniformPrior
    from engine.agents.static import StaticAgent

    return StaticAgent(UniformPrior(), context.settings, name="random")


BUILT_IN = (
    Method("jitrl", "the model with its memory (Algorithm 1)", _jitrl, learns=True),
    Method("static", "the model alone; remembers nothing", _static),
    Method("random", "any valid action; the floor of every comparison", _random, asks_model=False),
)
"""The methods of this project, in the order in which they are shown."""

AGENTS = Registry("agent", Method, "jitrl.agents", BUILT_IN)
