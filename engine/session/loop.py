"""The loop: observe, abstract, decide, let a person overrule, step, judge, remember.

The only one that drives an environment. Screens, headless runs and recordings read its events.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engine.agents.base import Replayed, Turn
from engine.environment import Writing
from engine.environments import kind_of
from engine.errors import BadFile, JitrlError, MissingError, ModelError, StorageError, UsageError
from engine.memory.view import ScopeView
from engine.records import (
    Decision,
    Episode,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Kept,
    Notice,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    Stepped,
    TakenBack,
    Tally,
    Thinking,
    Waiting,
)
from engine.session import levers, orders, recording
from engine.session import store as sessions
from engine.session.account import Account, Accounts
from engine.session.control import Control, EndEpisode, StopRequested, TakeBack
from engine.session.emitter import EventWriter
from engine.session.live import (
    EpisodeBeginnings,
    RunningEpisode,
    SessionParts,
    open_environment,
    open_parts,
    session_started,
    summary,
)
from engine.session.lookahead import Lookahead, open_ahead
from engine.session.processor import Stopwatch
from engine.session.recorded_steps import TakenStep
from engine.session.remote.host import SessionHost
from engine.session.replay import Replay, draws
from engine.session.shared import place
from engine.session.steer import Steering

if TYPE_CHECKING:
    import numpy as np

    from engine.environment import Environment
    from engine.llm.model import Model
    from engine.session.whatif import OpenRun


class Session:
    """A run of episodes of one agent in one environment.

    Args:
        saved: The session on disk. If it has a recording, the session is resumed where that ends.
        saves: The saves folder (memory, caches).
        emit: Called with every event, from the thread that calls `run`.
        control: Commands; `session.control.pause()` and so on.
        interactive: Whether a person is present. Then the session pauses on errors that a person can fix.
        model: A model that is open already, such as one that is being trained; None to open that of the configuration.
        takes_back: Whether steps can be taken back. An agent that plans keeps what it knew at the beginning of each
            episode for that, which a run that nobody watches does without.
    """

    def __init__(
        self,
        saved: sessions.SavedSession,
        saves: Path,
        emit: Callable[[Event], None],
        *,
        control: Control | None = None,
        interactive: bool = False,
        clock: Callable[[], float] = time.time,
        model: Model | None = None,
        takes_back: bool = True,
    ) -> None:
        self.control = control or Control()
        if self.control.orders == orders.Orders():  # what a person orders before the session has begun adds to them
            self.control.order(orders.orders_of(saved.folder))
        self.error: JitrlError | None = None
        self.results: list[EpisodeEnded] = []
        self.episode = 0
        self._saved = saved
        self._config = saved.config
        self._settings = saved.config.settings
        self._saves = saves
        self._interactive = interactive
        self._clock = clock
        self._model, self._takes_back = model, takes_back
        self._host = SessionHost.of(saved, self.control, interactive=interactive)
        self._events = EventWriter(emit, saved.folder, clock, see=self._host.see)
        self._emit, self._tell, self._warn = self._events.emit, self._events.record, self._events.warn
        self._accounts = Accounts(self._tell)
        self._processor = Stopwatch()
        self._ahead: Lookahead | None = None
        self._steering: Steering
        self._beginnings = EpisodeBeginnings(self.control.check, self._warn)
        self._changes: levers.Changes
        self._uids: set[str] = set()
        """Those of its episodes."""
        self._task = ""
        """The task that draws depend on, "" for none."""
        self._replay: Replay
        self._recorded: OpenRun | None = None
        """Its own recording, for decisions that are made again."""

    def fast_forward(self, episodes: int) -> None:
        """Run without delay to the end of this episode (0), or of `episodes` more after this one."""
        self.control.fast_forward(max(1, self.episode) + episodes)

    def run(self) -> SessionEnded:
        """Play until all episodes are done, the person stops, or an error ends it.

        Errors in play are not raised. They are reported in a Notice, and `error` holds them.
        """
        parts: SessionParts | None = None
        finished = False
        try:
            past = self._past()
            self._events.recorder = recording.Recorder(self._saved.recording)
            self._host.start()
            self._steering = self._steered(past)
            parts = self._open(past)
            live = self._resume(parts, past)
            self._play(parts, live)
            finished = True
        except StopRequested:
            pass
        except JitrlError as error:
            self.error = error
            self._tell(Notice("error", str(error), type(error).__name__))
        finally:
            others = 0 if parts is None else self._others(parts)
            if parts is not None:
                if self._ahead is not None:
                    self._ahead.close()
                parts.close()
            self._host.close()
            for event in self.control.reports():
                self._tell(event)
            ended = summary(self.results, finished, others)
            self._tell(ended)
            self._events.close()
            self._host.gone()
        return ended

    # -------------------------------------------------------------------------------------- opening

    def _open(self, past: list[tuple[float, Event]]) -> SessionParts:
        """Open environment, memory and model, and report slow work."""
        started = past[0][1] if past else None
        kind = kind_of(self._config.game)
        self._emit(Thinking(kind.opening))
        parts = open_parts(
            kind,
            self._environment(),
            self._saved,
            self._saves,
            before=started.next_entry if isinstance(started, SessionStarted) else None,
            check=self.control.check,
            warn=self._warn,
            progress=lambda text: self._emit(Thinking(text)),
            opened=self._watch_over,
            charge=self._accounts.charge,
            origin=self._origin,
            failed=self._pause_for,
            given=self._model,
        )
        self._settings = parts.settings
        self._changes = levers.Changes(parts.settings)
        self.control.on_stop(parts.memory.hurry)
        self._events.secrets = parts.environment.secrets
        parts.environment.on_wait(self._warn)
        for sentence in parts.replaced:
            self._warn(sentence)
        if kind.ahead:
            self._ahead = open_ahead(self._environment, parts.model, self._config.seed)
        return parts

    def _origin(self) -> Kept:
        """Return an empty record with scope, session, episode and time filled in."""
        account = self._accounts.running
        return Kept(
            "", "", model=self._config.model, session=self._saved.name, episode=account.episode if account else 0,
            episode_uid=account.uid if account else "", at=self._clock(),
        )  # fmt: skip

    def _watch_over(self, model: Model) -> None:
        """Let the person cancel the model's calls, and see when it has to wait."""
        model.on_event(self._heard)
        self.control.on_stop(model.cancel)

    def _heard(self, event: Waiting | Notice) -> None:
        """Show that the model waits; record what it tells of its server."""
        (self._tell if isinstance(event, Notice) else self._emit)(event)

    def _environment(self) -> Environment:
        return open_environment(self._config, self._saves)

    def _draws(self, episode: int, step: int) -> np.random.Generator:
        """Return the generator of a decision."""
        return draws(self._config.seed, self._task, place(self._config, episode)[0], step)

    def _steered(self, past: list[tuple[float, Event]]) -> Steering:
        """Return what lets a person steer this session."""
        return Steering(
            self.control, self._events, self._saved.folder, self._draws, self._settings.selection != "sample",
            (event for _, event in past), takes_back=self._takes_back,
        )  # fmt: skip

    def _past(self) -> list[tuple[float, Event]]:
        if not self._saved.recording.is_file():
            return []
        return list(recording.read(self._saved.recording))

    def _resume(self, parts: SessionParts, past: list[tuple[float, Event]]) -> RunningEpisode | None:
        """Show what the recording holds, and bring the environment to where it ends."""
        started = session_started(self._saved, parts, past[0][1] if past else None)
        self._task = started.environment.task
        self._uids = {event.uid for _, event in past if isinstance(event, EpisodeStarted)}
        first = past[0][1] if past else None
        begun = levers.began_with(parts.settings, first) if isinstance(first, SessionStarted) else parts.settings
        view, back = ScopeView(parts.scope), self._takes_back
        self._replay = Replay(parts.agent, started, view, self._uids, begun, takes_back=back)
        if not past:
            self._tell(started)
            return None
        self._emit(started)
        self._events.begun = True
        for _, event in past:
            if isinstance(event, EpisodeEnded):
                self.results.append(event)
                self.episode = event.episode
            if not isinstance(event, (SessionStarted, SessionEnded)):
                self._emit(event)
        try:
            recorded = list(self._events.reader.episodes(past))
        except BadFile as error:
            raise BadFile(f"the recording {self._saved.recording} is damaged: {error}") from None
        left = recorded[-1] if recorded and not recorded[-1].ended else None
        if left is not None and left.steps and not parts.environment.info.repeatable:
            raise recording.NotRepeatable(self.episode + 1, len(left.steps))
        self._emit(Thinking("resuming the session where it was left"))
        for episode in recorded:
            self.control.check()
            self._replay.replay_episode(episode if episode is not left else dataclasses.replace(episode, takes=[]))
        live = None if left is None else self._repeat(parts, left.account(), left.steps)
        self._changes.follow(parts.agent, self._events.reader.changed, 0, 0)
        return live

    def _repeat(self, parts: SessionParts, account: Account, steps: Iterable[TakenStep]) -> RunningEpisode:
        """Take steps of an episode again from its beginning: it was left after them, or a later one is taken back.

        Args:
            account: Has what the episode has cost so far.
        """
        account.step = 0
        account.tally = dataclasses.replace(account.tally, unwritten=0)  # counted anew with the steps
        with self._accounts.repeating():
            live = self._begin(parts, account)
            for step in steps:
                self.control.check()
                self._replay.decided(live.number, step, live.observation)
                self._advance(parts, live, step.decision)
                if live.observation.text != step.after.text:
                    self._emit(Notice("warning", "the game answered differently this time; going on from here"))
        return live

    # ------------------------------------------------------------------------------------- playing

    def _play(self, parts: SessionParts, live: RunningEpisode | None) -> None:
        first = live.number if live else self.episode + 1
        self._processor = Stopwatch()
        for number in range(first, self._config.episodes + 1):
            self.control.check()
            if live is None:
                live = self._begin(parts, Account(number, uuid.uuid4().hex), anew=True)
                if not live.observation.broken:
                    self._events.page(parts.environment, live.number, len(live.steps))
            self.episode = number
            while not live.observation.over and len(live.steps) < self._settings.step_limit:
                self.control.turn(self._processor.paused)
                try:
                    decision = self._decide(parts, live)
                except TakeBack:
                    live = self._taken_back(parts, live)
                    self._events.page(parts.environment, live.number, len(live.steps))
                    continue
                except EndEpisode:
                    live.ended_by = "person"
                    break
                before = live.observation
                self._advance(parts, live, decision)
                self._tell(Stepped(
                    number, decision.step, decision.action, live.observation, live.observation.score - before.score,
                    decision.provenance, live.account.tokens, live.account.cost_usd,
                ))  # fmt: skip
                self._steering.stepped(before, live.observation)
                if not live.observation.broken:
                    self._events.page(parts.environment, live.number, len(live.steps))
            if not live.observation.over:
                live.observation = parts.environment.conclude() or live.observation
            self._end(parts, live)
            live = None

    def _taken_back(self, parts: SessionParts, before: RunningEpisode) -> RunningEpisode:
        """Return the episode without its last step, by taking all others again."""
        recorded = self._events.reader.episode
        self._replay.taken_back()
        live = self._repeat(parts, before.account, before.all_but_last(recorded.steps if recorded is not None else ()))
        if isinstance(parts.agent, Replayed):
            parts.agent.change(self._changes.settings)
        live.started = before.started
        self._steering.taken_back(before.decisions[-1])
        account = live.account
        self._tell(TakenBack(
            live.number, before.decisions[-1].action, len(live.steps), live.observation, account.tokens,
            account.cost_usd,
        ))  # fmt: skip
        return live

    def _begin(self, parts: SessionParts, account: Account, *, anew: bool = False) -> RunningEpisode:
        """Begin an episode. Only a new one (`anew`) is reported, not one whose steps are repeated.

        All episodes begin in the same way, with the seed of the session.
        """
        number = account.episode
        observation = self._beginnings.reset(parts.environment, self._config.seed, anew=anew)
        if anew:
            known = parts.scope.seen_until()
            learns = parts.agent.learns and not self._config.frozen
            remembered_as = parts.scope.next_number if learns else None
            self._uids.add(account.uid)
            self._tell(EpisodeStarted(number, self._config.seed, observation, account.uid, known, remembered_as))
            self._steering.began(observation)
        self._accounts.open(account)
        abstractor = parts.environment.abstractor().written(
            Writing(parts.write, self._settings, self._warn, self._accounts.missed)
        )
        started = self._clock()
        state = abstractor.begin(observation)
        with self._excused("prepare for this episode"):
            if anew:
                self._replay.others(known)
            self._replay.begun(state)
        live = RunningEpisode(number, account.uid, observation, state, abstractor, started, account)
        if observation.broken:
            live.failed, live.ended_by = 1, "failure"
        return live

    @contextlib.contextmanager
    def _excused(self, what: str) -> Iterator[None]:
        """Report errors of the model in the block and go on, for calls outside decisions.

        Args:
            what: What the agent could not do, for the message.
        """
        try:
            yield
        except (ModelError, MissingError) as error:
            self.control.check()
            self._warn(f"the agent could not {what}: {error}")

    def _decide(self, parts: SessionParts, live: RunningEpisode) -> Decision:
        parts.scope.hide(self._events.secrets())
        environment = parts.environment
        valid = environment.valid_actions() or environment.fallback or parts.kind.fallback
        step = len(live.steps)
        number, episodes = place(self._config, live.number)
        turn = Turn(
            step=step,
            steps_left=self._settings.step_limit - step,
            observation=live.observation,
            state=live.state,
            valid_actions=valid,
            present=live.abstractor.situation(live.observation),
            recent=live.abstractor.recent(self._settings.recent_steps),
            resolve=environment.resolve,
            page=environment.snapshot,
            episode=number,
            episodes=episodes,
        )
        self._follow_changes(parts, live)
        while True:
            try:
                rng = self._draws(live.number, step)
                self._emit(Thinking("thinking"))
                decision = parts.agent.decide(turn, rng)
                break
            except (ModelError, MissingError) as error:
                self.control.check()
                self._pause_for(error)
        live.account.decided(decision)
        self._events.unvalued(decision)
        return self._steering.settle(
            live,
            decision,
            turn.resolve,
            repeatable=parts.environment.info.repeatable,
            ahead=self._ahead,
            again=lambda made: self._reread(parts, live, made),
        )

    def _reread(self, parts: SessionParts, live: RunningEpisode, decision: Decision) -> Decision:
        """Make a decision again after a person changed memory or settings. The model is not asked."""
        changed = "settings" if self._follow_changes(parts, live) else "memory"
        self._emit(Thinking(f"deciding again with the changed {changed}"))
        from engine.session.whatif import OpenRun, decide_again

        if self._recorded is None:
            self._recorded = OpenRun(self._saved.recording, self._saves, live=True, scope=parts.scope)
        at = live.number, decision.step
        return decide_again(
            parts, self._recorded, at, decision, changed, warn=self._warn, check=self.control.check
        )

    def _follow_changes(self, parts: SessionParts, live: RunningEpisode) -> bool:
        """Follow the settings that the person changed since the last call; return whether there are any."""
        try:
            changed = self._changes.follow(parts.agent, self.control.changes(), live.number, len(live.steps))
        except UsageError as error:
            self._warn(str(error))
            return False
        if changed is not None:
            self._tell(changed)
        return changed is not None

    def _advance(self, parts: SessionParts, live: RunningEpisode, decision: Decision) -> None:
        if not self._accounts.repeated:
            live.account.count(decision.tally)
        seen = parts.environment.step(decision.action)
        step = live.take(decision, seen)
        if step is None:
            self._warn(f"the environment failed at {decision.action!r}, which is not remembered: {seen.text}")
            return
        self._replay.stepped(step, live.state, seen)

    def _end(self, parts: SessionParts, live: RunningEpisode) -> None:
        """Judge the episode, remember it, let the agent learn from it, tell about it (step 7)."""
        self._emit(Thinking("judging the episode"))
        judged = parts.evaluator.rewards(live.trajectory())
        if judged.note:
            self._warn(judged.note)
        for call in judged.calls:
            self._accounts.charge(call)
        if judged.calls:
            live.account.count(Tally(unjudged=len(live.steps) - len(judged.scored)))
        episode = live.episode(self._saved, parts.environment.info.scope, judged.rewards, self._clock())
        learning = live.steps and not self._config.frozen
        if learning and parts.agent.learns:
            self._remember(parts, episode)
        kept, first = parts.scope.kept(episode)
        if learning:
            with self._excused("learn from this episode"):
                parts.agent.end_episode(kept, first)
        live.account.processor_s += self._processor.lap()
        ended = live.ended(
            judged.rewards, self._settings, parts.scope, len(kept.steps) if first >= 0 else 0, self._clock()
        )
        self.results.append(ended)
        self._tell(ended)

    def _remember(self, parts: SessionParts, episode: Episode) -> None:
        parts.scope.hide(self._events.secrets())
        while True:
            try:
                parts.scope.append(episode)
                return
            except StorageError as error:
                self._pause_for(error)

    def _pause_for(self, error: JitrlError) -> None:
        """Wait until the person has mended what went wrong; without a person, give up."""
        if not self._interactive:
            raise error
        self._emit(Notice("warning", str(error), type(error).__name__))
        self.control.wait_for_resume(lambda: self._emit(Paused(str(error))))
        self._emit(Resumed())

    def _others(self, parts: SessionParts) -> int:
        """Return how many episodes other sessions stored in this scope since this one began."""
        return sum(uid not in self._uids for _, uid in parts.scope.stored_since(parts.before))
