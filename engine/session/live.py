"""What a session holds open, and the episode it is playing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.records import Decision, Episode, Observation, State, Step, Trajectory

if TYPE_CHECKING:
    from engine.agents.base import Agent
    from engine.environment import Abstractor, Environment
    from engine.errors import JitrlError
    from engine.evaluator import Evaluator
    from engine.kinds import Kind
    from engine.llm.model import Model
    from engine.memory.store import Memory, Scope
    from engine.records import Kept, ModelCall
    from engine.session.account import Account
    from engine.session.store import SavedSession
    from engine.session.writing import Writer
    from engine.settings import Settings


@dataclass(slots=True)
class Live:
    """The episode being played. Mutable, and seen by the session's thread alone."""

    number: int
    uid: str
    observation: Observation
    state: State
    abstractor: Abstractor
    started: float
    account: Account
    steps: list[Step] = dataclasses.field(default_factory=list)
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    texts: list[str] = dataclasses.field(default_factory=list)
    """What was printed before each step taken."""

    @property
    def flips(self) -> int:
        """Decisions that JitRL's update made other ones than the prior alone would have been."""
        return sum(decision.changed for decision in self.decisions)

    def take(self, decision: Decision, observation: Observation) -> Step:
        """Note that a decision was carried out and what came of it; return the step."""
        self.account.step += 1
        before, self.observation = self.observation, observation
        self.texts.append(before.text)
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

    @property
    def truncated(self) -> bool:
        """Whether the episode, now that it is over, was cut off: by its environment, or by the step limit."""
        return not self.observation.terminated

    def trajectory(self) -> Trajectory:
        """Return the whole episode as an evaluator reads it."""
        last = self.observation
        return Trajectory(
            tuple(self.steps), self.state, (*self.texts, last.text),
            terminated=last.terminated, truncated=self.truncated, outcome=last.outcome,
        )  # fmt: skip

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
            terminated=last.terminated,
            truncated=self.truncated,
            outcome=last.outcome,
            started=self.started,
            wall_s=now - self.started,
        )


@dataclass(slots=True)
class Parts:
    """What a session holds open.

    Attributes:
        kind: Of the environment.
        write: Asks the model for states and histories.
        settings: What is really done: the session's settings but for what cannot be had.
        replaced: What that is, a sentence each.
    """

    kind: Kind
    environment: Environment
    memory: Memory
    scope: Scope
    model: Model
    write: Writer
    agent: Agent
    evaluator: Evaluator
    settings: Settings
    replaced: tuple[str, ...] = ()

    def close(self) -> None:
        """Give everything back."""
        self.environment.close()
        self.model.close()
        self.memory.close()


def open_parts(
    kind: Kind,
    environment: Environment,
    saved: SavedSession,
    saves: Path,
    *,
    check: Callable[[], None],
    warn: Callable[[str], None],
    progress: Callable[[str], None],
    opened: Callable[[Model], None] = lambda model: None,
    charge: Callable[[ModelCall], None],
    origin: Callable[[], Kept],
    failed: Callable[[JitrlError], None],
) -> Parts:
    """Open memory, model, agent and evaluator around an environment, which is closed if that fails.

    Args:
        check: Raises when the person has asked to stop.
        warn: Takes a sentence about something that was mended.
        progress: Takes a short phrase when something slow begins.
        opened: Takes the model before it is asked anything, so that it can be cancelled.
        charge: Takes every call that is made in words, by an abstractor or an agent.
        origin: Returns a record that says which episode is running, for what the agent keeps.
        failed: Takes what the agent could not keep; returns when it is to be tried again, or raises.

    Raises:
        JitrlError: Something is missing or damaged.
    """
    from engine.agents import AGENTS
    from engine.agents.base import AgentContext
    from engine.environment import Judged
    from engine.environments import scope_rules
    from engine.errors import UsageError
    from engine.llm import open_model
    from engine.memory import Memory
    from engine.session.attainable import WRITING, attainable, why_no_writer
    from engine.session.notebook import SessionNotebook
    from engine.session.writing import Writer

    config = saved.config
    memory: Memory | None = None
    model: Model | None = None
    try:
        method = AGENTS.find(config.agent)
        owner = config.memory.removeprefix("own:") if ":" in config.memory else saved.name
        own = saves / "sessions" / owner if owner != saved.name else saved.folder
        memory = Memory((saves if config.memory == "shared" else own) / "memory", notice=warn, rules=scope_rules)
        scope = memory.scope(environment.info.scope)
        check()
        progress(f"loading {config.model}")
        model = open_model(
            config.model if method.asks_model else "prior/uniform",
            settings=config.settings,
            cache=saves / "cache",
            on_progress=progress,
            asking=kind.asking(),
        )
        opened(model)
        check()
        model.settle()
        if method.writes and (problem := why_no_writer(model, WRITING, saves / "cache", kind, progress)):
            raise UsageError(f"{method.name} learns by what its model writes: {problem}; choose another model or agent")
        settings, replaced = attainable(
            config.settings,
            model,
            environment,
            saves / "cache",
            kind=kind,
            learns=method.learns,
            progress=progress,
        )
        check()
        if settings.fuzzy == "model" and isinstance(environment, Judged):
            environment.judge_with(model)
        notebook = SessionNotebook(scope.records, method.name, origin, failed)
        agent = method.make(
            AgentContext(model, scope, settings, Writer(model, charge, check, progress), notebook)
        )
        evaluator = kind.evaluator(settings, model)
        write = Writer(model, charge, check)
        return Parts(kind, environment, memory, scope, model, write, agent, evaluator, settings, replaced)
    except BaseException:
        environment.close()
        for part in (model, memory):
            if part is not None:
                part.close()
        raise
