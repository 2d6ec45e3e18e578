"""Methods: each turns a turn into a decision. One file a method, one line here.

A method of a package of your own is an entry point in the group `jitrl.agents` that names a `Method`:

    [project.entry-points."jitrl.agents"]
    echo = "echo_agent:METHOD"
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from engine.errors import UsageError

if TYPE_CHECKING:
    from engine.agents.base import Agent, AgentContext

GROUP = "jitrl.agents"


@dataclass(frozen=True, slots=True)
class Method:
    """A kind of agent.

    Attributes:
        name: What `--agent` takes.
        about: One line for people.
        make: Returns an agent for one session.
        learns: Whether finished episodes go to memory, so that their steps have to be judged. What a method keeps
            besides (`AgentContext.kept`) does not depend on it.
        asks_model: Whether the session's model is opened for it.
    """

    name: str
    about: str
    make: Callable[[AgentContext], Agent]
    learns: bool = False
    asks_model: bool = True


def _jitrl(context: AgentContext) -> Agent:
    from engine.agents.jitrl import JitrlAgent
    from engine.values import make_estimator

    model, memory, settings = context.model, context.memory, context.settings
    if settings.other_tasks == "lifted" and settings.estimator == "knn":
        from engine.values.knn import KnnEstimator, retriever
        from engine.web.states.lifting import LiftedMemory

        return JitrlAgent(
            model, KnnEstimator(LiftedMemory(retriever(memory, settings)), settings), settings
        )
    return JitrlAgent(model, make_estimator(memory, settings), settings)


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


def methods() -> Mapping[str, Method]:
    """Return all methods by name: those of this project, then those of installed packages that load."""
    known = {method.name: method for method in BUILT_IN}
    for entry in entry_points(group=GROUP):
        with contextlib.suppress(UsageError):  # told to who asks for it
            known.setdefault(entry.name, _loaded(entry))
    return known


def find_method(name: str) -> Method:
    """Return the method called `name`; one of this project even where a package has the same name.

    Raises:
        UsageError: There is none, or its package does not load.
    """
    for method in BUILT_IN:
        if method.name == name:
            return method
    for entry in entry_points(group=GROUP, name=name):
        return _loaded(entry)
    raise UsageError(f"there is no agent {name!r}; choose one of: {', '.join(methods())}")


def _loaded(entry: EntryPoint) -> Method:
    """Return the method of an entry point.

    Raises:
        UsageError: It does not load, or is none of this name.
    """
    try:
        method = entry.load()
    except Exception as error:  # whatever a package of somebody else raises
        raise UsageError(f"the agent {entry.name!r} of {entry.value} does not load: {error}") from None
    if not isinstance(method, Method) or method.name != entry.name:
        raise UsageError(f"the agent {entry.name!r} of {entry.value} is no Method of that name")
    return method
