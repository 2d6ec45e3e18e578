"""The methods that agents can follow. Each is a file in this folder and a line in `BUILT_IN`.

A package of your own adds a method with an entry point in the group `jitrl.agents` that names a `Method`:

    [project.entry-points."jitrl.agents"]
    echo = "echo_agent:METHOD"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from engine.llm.prompts import Folder
from engine.registry import Registry

if TYPE_CHECKING:
    from engine.agents.base import Agent, AgentContext


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
        writes: Whether it learns from what its model writes, so that a model that cannot write is refused.
        dialect: The dialect that its model speaks, "" for none. It plays only kinds of environments that have it.
        prompts: Folders with the method's own prompts. Their digests are written to the manifest of a run.
    """

    name: str
    about: str
    make: Callable[[AgentContext], Agent]
    learns: bool = False
    asks_model: bool = True
    writes: bool = False
    dialect: str = ""
    prompts: tuple[Folder, ...] = ()


def _writing(name: str, about: str, make: Callable[[AgentContext], Agent]) -> Method:
    """Return a method that learns by what its model writes, with the folder of prompts that has its name."""
    return Method(name, about, make, writes=True, prompts=(Folder(f"engine.agents.prompts.{name}"),))


def _of(path: str) -> Callable[[AgentContext], Agent]:
    """Return a function that makes an agent of a class of this folder, `module:name`. Imported when called."""

    def make(context: AgentContext) -> Agent:
        agent: Agent = resolve_name(f"engine.agents.{path}")(context)
        return agent

    return make


def _jitrl(context: AgentContext) -> Agent:
    from engine.agents.jitrl import JitrlAgent
    from engine.values import ESTIMATORS
    from engine.values.base import FailedEstimator, failure

    kind = ESTIMATORS.find(context.settings.estimator)
    start = context.start if kind.replayed and context.start is not None else context.memory
    try:
        estimator = kind.make(start, context.settings)
    except Exception as error:
        return JitrlAgent(context.model, FailedEstimator(failure(error)), context.settings)
    searched = context.memory if kind.retrieves else None
    return JitrlAgent(context.model, estimator, context.settings, searched=searched)


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
    Method("memory", "transcripts of past episodes in the prompt", _of("transcripts:TranscriptAgent")),
    _writing("reflexion", "reflections on past episodes in the prompt", _of("reflexion:ReflexionAgent")),
    _writing("awm", "workflows that the model extracts from what succeeded", _of("awm:WorkflowAgent")),
    _writing("reasoningbank", "strategies that the model distils from successes and failures",
             _of("reasoningbank:ReasoningBankAgent")),
    _writing("memrl", "experiences with a learnt value", _of("memrl:MemrlAgent")),
    _writing("evotest", "a guide, routines and numbers that the model rewrites", _of("evotest:EvoTestAgent")),
    Method("jitrl-prompt", "JitRL's retrieval in the prompt; logits untouched", _of("prompted:PromptedAgent"),
           learns=True),
    Method("webrl", "WebRL's published checkpoints, with their own prompt and actions; web tasks only",
           _of("webrl:WebrlAgent"), dialect="webrl"),
    Method("human", "the actions of a recording (--set replayed=SESSION)", _of("human:HumanAgent"), asks_model=False),
)  # fmt: skip
"""The methods of this project, in the order in which they are shown."""

AGENTS = Registry("agent", Method, "jitrl.agents", BUILT_IN)
