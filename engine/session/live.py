"""The running episode of a session, how it begins, and the objects that a session keeps open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine import trust
from engine.codec import to_plain
from engine.environment import Environment
from engine.environments import kind_of
from engine.errors import GameError, UsageError
from engine.jitrl import discounted_returns, own_returns
from engine.kinds import EnvironmentContext
from engine.paths import cache_folder
from engine.records import (
    FORMAT,
    Decision,
    Episode,
    EpisodeEnded,
    Event,
    Observation,
    SessionEnded,
    SessionStarted,
    State,
    Step,
    Trajectory,
)
from engine.session.store import memory_sharing, named_places

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
    from engine.session.model_texts import Writer
    from engine.session.recorded_steps import TakenStep
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig, Settings


def open_environment(config: SessionConfig, saves: Path) -> Environment:
    """Open the environment of a session.

    Raises:
        JitrlError: It cannot be opened, or the session names places that the user has not confirmed.
    """
    trust.require(*named_places(config))
    environment = kind_of(config.game).open(config.game, EnvironmentContext(saves, config.games))
    environment.limit = config.settings.valid_commands or None
    return environment


def step_of(decision: Decision, state: State, before: Observation, after: Observation) -> Step:
    """Return the step that a decision became; its reward is not judged yet.

    Args:
        state: The state it was taken in.
        before: What was seen there.
        after: What it was answered with.
    """
    return Step(
        state=state,
        action=decision.action,
        reward=0.0,
        env_reward=after.score - before.score,
        score=after.score,
        provenance=decision.provenance,
        valid_actions=decision.possible,
        changed=after.changed,
        world_hash=before.world_hash,
    )


@dataclass(slots=True)
class RunningEpisode:
    """The running episode. It is mutable and is used only by the session's thread."""

    number: int
    uid: str
    observation: Observation
    state: State
    abstractor: Abstractor
    started: float
    account: Account
    steps: list[Step] = dataclasses.field(default_factory=list)
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    seen: list[Observation] = dataclasses.field(default_factory=list)
    """What the environment showed before each step."""
    ended_by: str = ""
    """"person" if a person ended it, "failure" if the environment failed."""
    failed: int = 0
    """Number of actions at which the environment failed."""

    @property
    def flips(self) -> int:
        """Number of decisions in which JitRL's update changed the action, broken ties apart."""
        return sum(decision.changed for decision in self.decisions)

    def take(self, decision: Decision, observation: Observation) -> Step | None:
        """Add a decision that was carried out, with its observation; return the step.

        If the episode is over because the environment failed, the decision is no step of it, and None is returned.
        """
        self.failed += observation.failed
        if observation.broken:
            self.observation, self.ended_by = observation, "failure"
            return None
        self.account.step += 1
        before, self.observation = self.observation, observation
        self.seen.append(before)
        step = step_of(decision, self.state, before, observation)
        self.steps.append(step)
        self.decisions.append(decision)
        self.state = self.abstractor.advance(decision.action, observation)
        return step

    def all_but_last(self, recorded: Iterable[TakenStep]) -> list[TakenStep]:
        """Return its steps without the last one, as they are recorded, but with the secrets that a recording lacks."""
        own = zip(recorded, self.decisions, self.seen, self.seen[1:], strict=False)
        return [dataclasses.replace(one, decision=done, before=seen, after=then) for one, done, seen, then in own]

    @property
    def truncated(self) -> bool:
        """Whether the finished episode was cut off by its environment or by the step limit."""
        return not self.observation.terminated

    def trajectory(self) -> Trajectory:
        """Return the episode as input of an evaluator."""
        last = self.observation
        return Trajectory(
            tuple(self.steps), self.state, (*(one.text for one in self.seen), last.text),
            terminated=last.terminated, truncated=self.truncated, outcome=last.outcome,
        )  # fmt: skip

    def episode(self, saved: SavedSession, scope: str, rewards: tuple[float, ...], now: float) -> Episode:
        """Return the episode as stored in memory.

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

    def ended(
        self, rewards: tuple[float, ...], settings: Settings, scope: Scope, added: int, now: float
    ) -> EpisodeEnded:
        """Return the event that tells of the end of the episode.

        Args:
            rewards: r_t of the evaluator, one for each step.
            settings: Discount and definition of the returns.
            scope: The memory that was used.
            added: Number of them that this episode added.
            now: Unix time, seconds.
        """
        last, account = self.observation, self.account
        retrievals, retrieval_s = scope.retrieval_time()
        returns = own_returns if settings.zero_rewards == "own" else discounted_returns
        return EpisodeEnded(
            episode=self.number,
            score=last.score,
            max_score=last.max_score,
            steps=len(self.steps),
            terminated=last.terminated,
            truncated=self.truncated,
            outcome=last.outcome,
            rewards=rewards,
            returns=tuple(map(float, returns(rewards, settings.gamma))),
            memory_entries=len(scope),
            entries_added=added,
            tokens=account.tokens,
            cost_usd=account.cost_usd,
            wall_s=now - self.started,
            flips=self.flips,
            tally=account.tally,
            retrievals=retrievals,
            retrieval_s=retrieval_s,
            ended_by=self.ended_by,
            processor_s=round(account.processor_s, 3),
            failed=self.failed,
            state=None if added else self.state,
        )


@dataclass(slots=True)
class SessionParts:
    """The objects that a session keeps open.

    Attributes:
        kind: Kind of the environment.
        write: Asks the model for states and histories.
        settings: The settings in effect: those of the session, except the replaced ones.
        before: Entry number of the first step that was or will be remembered after the session began.
        replaced: A sentence for each replaced setting.
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
    before: int
    replaced: tuple[str, ...] = ()

    def close(self) -> None:
        """Close all of them."""
        self.environment.close()
        self.model.close()
        self.memory.close()


def session_started(saved: SavedSession, parts: SessionParts, first: Event | None) -> SessionStarted:
    """Return the first event of a session, which says what is played, how, and from which memory.

    Args:
        first: The first event of its recording if it is resumed. Draws go on as they began, also if that was with an
            earlier version.
    """
    config, info = saved.config, parts.environment.info
    if isinstance(first, SessionStarted):
        info = dataclasses.replace(info, task=first.environment.task)
    return SessionStarted(
        session=saved.name,
        environment=info,
        agent=config.agent,
        model=config.model,
        seed=config.seed,
        profile=config.profile,
        episodes=config.episodes,
        steps=parts.settings.step_limit,
        settings=to_plain(parts.settings),
        memory_entries=len(parts.scope),
        resumed=first is not None,
        reading=parts.model.reading,
        replaced=parts.replaced,
        format=FORMAT,
        next_entry=parts.before,
        memory=memory_sharing(config),
        workers=config.workers,
        worker=config.worker,
        episodes_before=len(parts.scope.doc_ids()) - len(parts.scope.stored_since(parts.before)),
    )


def open_parts(
    kind: Kind,
    environment: Environment,
    saved: SavedSession,
    saves: Path,
    *,
    before: int | None,
    check: Callable[[], None],
    warn: Callable[[str], None],
    progress: Callable[[str], None],
    opened: Callable[[Model], None] = lambda model: None,
    charge: Callable[[ModelCall], None],
    origin: Callable[[], Kept],
    failed: Callable[[JitrlError], None],
    given: Model | None = None,
) -> SessionParts:
    """Open memory, model, agent and evaluator for an environment. If that fails, the environment is closed.

    Args:
        before: Number of the first entry that was remembered after the session began, None if it begins now.
        check: Raises if the person stopped the session.
        warn: Called with a sentence about each repaired file.
        progress: Called with a short phrase when something slow begins.
        opened: Called with the model before it is asked anything, so that its calls can be cancelled.
        charge: Called with each call in words, made by an abstractor or an agent.
        origin: Returns an empty record that names the running episode, for the agent's records.
        failed: Called with the error if a record of the agent could not be stored. Returns to try again, or raises.
        given: A model that is open already; None to open that of the configuration.

    Raises:
        JitrlError: Something is missing or damaged.
    """
    from engine.agents import AGENTS
    from engine.agents.base import AgentContext, Notebook
    from engine.llm import open_model
    from engine.memory.search import EVERYTHING, MemoryFilter
    from engine.memory.view import ScopeView
    from engine.session.model_texts import Writer
    from engine.session.replaced_settings import WRITING, attainable, why_no_writer
    from engine.session.store import open_memory

    config = saved.config
    cache = cache_folder(saves)
    memory: Memory | None = None
    model: Model | None = None
    try:
        method = AGENTS.find(config.agent)
        memory = open_memory(saves, saved, warn)
        scope = memory.scope(environment.info.scope)
        check()
        progress(f"loading {config.model}")
        model = given or open_model(
            config.model if method.asks_model else "prior/uniform",
            settings=config.settings,
            cache=cache,
            on_progress=progress,
            asking=kind.asking(),
        )
        opened(model)
        check()
        model.settle()
        if method.writes and (problem := why_no_writer(model, WRITING, cache, kind, progress)):
            raise UsageError(f"{method.name} learns by what its model writes: {problem}; choose another model or agent")
        settings, replaced = attainable(
            dataclasses.replace(config.settings, rewards="score") if config.frozen else config.settings,
            model,
            environment,
            cache,
            kind=kind,
            learns=method.learns,
            progress=progress,
        )
        check()
        if settings.fuzzy == "model":
            environment.judge_with(model)
        notebook = Notebook(scope.records, method.name, origin, failed)
        start = ScopeView(scope, MemoryFilter(before, partly=True)) if before is not None else None
        agent = method.make(
            AgentContext(
                model, scope, settings, Writer(model, charge, check, progress), notebook, start, kind.dialects()
            )
        )
        if start is not None:
            start.memory_filter = EVERYTHING
        before = scope.next_entry if before is None else before
        evaluator = kind.evaluator(settings, model)
        write = Writer(model, charge, check)
        return SessionParts(
            kind, environment, memory, scope, model, write, agent, evaluator, settings, before, replaced
        )
    except BaseException:
        environment.close()
        for part in (model, memory):
            if part is not None:
                part.close()
        raise


def summary(results: Sequence[EpisodeEnded], finished: bool, others: int) -> SessionEnded:
    """Return the end of a session.

    Args:
        results: Its episodes.
        finished: Whether all of them were played.
        others: Number of episodes that other sessions stored in its memory meanwhile.
    """
    scores = [result.score for result in results]
    average = sum(scores) / len(scores) if scores else 0.0
    return SessionEnded(finished, len(scores), average, scores[-1] if scores else 0.0, others)


FAILED_BEGINNINGS = 5
"""Episodes in a row that may fail to begin. One more ends the session: then it is no single page that is at fault."""


class EpisodeBeginnings:
    """The beginnings of a session's episodes.

    Args:
        check: Raises if the person stopped the session.
        warn: Called with a sentence about what failed.
    """

    def __init__(self, check: Callable[[], None], warn: Callable[[str], None]) -> None:
        self._check, self._warn = check, warn
        self._failed = 0
        """Number of episodes in a row that could not begin."""

    def reset(self, environment: Environment, seed: int, *, anew: bool) -> Observation:
        """Reset the environment and return what it shows.

        If that fails, it is tried once more. If that fails too, a new episode is over at once and counts as failed.

        Args:
            environment: The environment.
            seed: As of `Environment.reset`.
            anew: Whether the episode is new, and not one whose steps are repeated.

        Raises:
            GameError: It fails when steps are repeated, or in more than `FAILED_BEGINNINGS` episodes in a row.
        """
        for last in (False, True):
            self._check()
            try:
                observation = environment.reset(seed)
            except GameError as error:
                if last and (not anew or self._failed >= FAILED_BEGINNINGS):
                    raise
                self._warn(f"the episode could not begin: {error}; {'it counts as failed' if last else 'one more try'}")
                observation = Observation(f"The episode could not begin: {error}.", truncated=True, failed=True)
            else:
                self._failed = 0
                return observation
        self._failed += 1
        return observation
