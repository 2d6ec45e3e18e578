"""What a session holds open, and the episode it is playing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.records import Decision, Episode, ModelCall, Observation, State, Step

if TYPE_CHECKING:
    from engine.agents.base import Agent
    from engine.environment import Abstractor, Environment
    from engine.evaluator import Evaluator
    from engine.llm.model import Model
    from engine.memory.store import Memory, Scope
    from engine.sessions import SavedSession


@dataclass(slots=True)
class Live:
    """The episode being played. Mutable, and seen by the session's thread alone."""

    number: int
    uid: str
    observation: Observation
    state: State
    abstractor: Abstractor
    started: float
    steps: list[Step] = dataclasses.field(default_factory=list)
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    tokens: int = 0
    cost_usd: float = 0.0
    flips: int = 0

    def account(self, decision: Decision) -> None:
        """Count what a decision cost, and whether memory made it another one."""
        for call in decision.calls:
            self.add(call)
        self.flips += bool(decision.without_memory) and decision.without_memory != decision.action

    def add(self, call: ModelCall) -> None:
        """Count what a model call cost; what came from the cache cost nothing now."""
        self.tokens += 0 if call.cached else call.prompt_tokens + call.completion_tokens
        self.cost_usd += call.cost_usd

    def take(self, decision: Decision, observation: Observation) -> Step:
        """Note that a decision was carried out and what came of it; return the step."""
        before, self.observation = self.observation, observation
        step = Step(
            state=self.state,
            action=decision.action,
            reward=0.0,
            env_reward=observation.score - before.score,
            score=observation.score,
            provenance=decision.provenance,
            valid_actions=decision.valid_actions,
            changed=observation.changed,
            world_hash=before.world_hash,
        )
        self.steps.append(step)
        self.decisions.append(decision)
        self.state = self.abstractor.advance(decision.action, observation)
        return step

    def episode(self, saved: SavedSession, scope: str, rewards: tuple[float, ...], now: float) -> Episode:
        """Return the whole episode as memory keeps it.

        Args:
            rewards: r_t of the evaluator, one for each step.
            now: Unix time, seconds.
        """
        last = self.observation
        return Episode(
            uid=self.uid,
            scope=scope,
            steps=tuple(
                dataclasses.replace(step, reward=reward)
                for step, reward in zip(self.steps, rewards, strict=True)
            ),
            final=self.state,
            agent=saved.config.agent,
            model=saved.config.model,
            seed=saved.config.seed,
            session=saved.name,
            score=last.score,
            max_score=last.max_score,
            done=last.done,
            won=last.won,
            died=last.died,
            started=self.started,
            wall_s=now - self.started,
        )


@dataclass(slots=True)
class Parts:
    """What a session holds open."""

    environment: Environment
    memory: Memory
    scope: Scope
    model: Model
    agent: Agent
    evaluator: Evaluator

    def close(self) -> None:
        """Give everything back."""
        self.environment.close()
        self.model.close()
        self.memory.close()


def open_parts(
    environment: Environment,
    saved: SavedSession,
    saves: Path,
    *,
    check: Callable[[], None],
    warn: Callable[[str], None],
    progress: Callable[[str], None],
) -> Parts:
    """Open memory, model, agent and evaluator around an environment, which is closed if that fails.

    Args:
        check: Raises when the person has asked to stop.
        warn: Takes a sentence about something that was mended.
        progress: Takes a short phrase when something slow begins.

    Raises:
        JitrlError: Something is missing or damaged.
    """
    from engine.agents import make_agent
    from engine.environment import Judged
    from engine.evaluator import make_evaluator
    from engine.llm import open_model
    from engine.memory import Memory

    config = saved.config
    memory: Memory | None = None
    model: Model | None = None
    try:
        owner = config.memory.removeprefix("own:") if ":" in config.memory else saved.name
        own = saves / "sessions" / owner if owner != saved.name else saved.folder
        memory = Memory((saves if config.memory == "shared" else own) / "memory", notice=warn)
        scope = memory.scope(environment.info.scope)
        check()
        progress(f"loading {config.model}")
        model = open_model(
            config.model if config.agent != "random" else "prior/uniform",
            settings=config.settings,
            cache=saves / "cache",
            on_progress=progress,
        )
        if config.settings.fuzzy == "model" and isinstance(environment, Judged):
            environment.judge_with(model)
        if config.settings.history == "vision":
            require_sight(environment, model)
        agent = make_agent(config.agent, model, scope, config.settings)
        evaluator = make_evaluator(config.settings, model)
        return Parts(environment, memory, scope, model, agent, evaluator)
    except BaseException:
        environment.close()
        for part in (model, memory):
            if part is not None:
                part.close()
        raise


def require_sight(environment: Environment, model: Model) -> None:
    """Refuse to begin with `history=vision` where nothing can be shown, or to nobody.

    Raises:
        UsageError: Says which, and what there is instead.
    """
    from engine.environment import Visible
    from engine.llm.model import takes_pictures

    if not isinstance(environment, Visible):
        raise UsageError(
            "history=vision is for web pages: a game shows nothing; a model writes with history=llm"
        )
    if not takes_pictures(model):
        raise UsageError(
            f"history=vision shows screenshots to the model, and {model.name} takes none; choose a model behind an API "
            "that does, or history=llm"
        )
