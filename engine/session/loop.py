"""The loop: observe, abstract, decide, let a person overrule, step, judge, remember.

The only one that drives an environment. Screens, headless runs and recordings read its events.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine import jitrl
from engine.agents.base import Turn
from engine.codec import to_plain
from engine.environment import Concluding, OpenActions, Visible, Writing
from engine.errors import BadFile, JitrlError, MissingError, ModelError, StorageError, UsageError
from engine.explain import overrule
from engine.records import (
    Decided,
    Decision,
    Episode,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCall,
    Notice,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    Stepped,
    TakenBack,
    Tally,
    Thinking,
)
from engine.session import recording
from engine.session import store as sessions
from engine.session.ahead import Lookahead, open_ahead
from engine.session.control import Control, Stopped, TakeBack
from engine.session.live import Live, Parts, open_parts

if TYPE_CHECKING:
    from engine.environment import Abstractor, Environment
    from engine.llm.model import Model
    from engine.web.browser.pages import PageStore

FALLBACK_ACTIONS = (
    "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest",
    "up", "down", "in", "out", "look", "wait",
)  # fmt: skip
"""What any text game understands; offered when no valid action is known and the episode goes on."""

ONCE_ONLY = (
    "A step cannot be taken back here: this cannot be put back to its start; taking the other steps again would lead "
    "elsewhere, or send a site's forms a second time."
)


class Session:
    """A run of episodes of one agent in one environment.

    Args:
        saved: Where it is kept; a recording already there is taken up where it ends.
        saves: The saves folder (memory, caches).
        emit: Called with every event, from the thread that calls `run`.
        control: Commands; `session.control.pause()` and so on.
        interactive: A person is there to mend things: pause on what they can mend instead of ending.
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
    ) -> None:
        self.control = control or Control()
        self.error: JitrlError | None = None
        self.results: list[EpisodeEnded] = []
        self.episode = 0
        self._saved = saved
        self._config = saved.config
        self._settings = saved.config.settings
        self._saves = saves
        self._emit = emit
        self._interactive = interactive
        self._clock = clock
        self._summaries: list[ModelCall] = []
        """Calls for states and histories that no episode's account has yet."""
        self._unwritten = 0
        """States and histories that rules wrote in the model's place and no episode's account has yet."""
        self._recorder: recording.Recorder | None = None
        self._pages: PageStore | None = None
        self._ahead: Lookahead | None = None
        self._begun = False
        """Whether the recording has its beginning; nothing is recorded before it."""

    def fast_forward(self, episodes: int) -> None:
        """Hurry to the end of this episode (0), or of `episodes` more after this one."""
        self.control.fast_forward(max(1, self.episode) + episodes)

    def run(self) -> SessionEnded:
        """Play until all episodes are done, the person stops, or an error ends it.

        Never raises for what goes wrong in play: that is told in a Notice and kept in `error`.
        """
        parts: Parts | None = None
        finished = False
        try:
            past = self._past()
            self._recorder = recording.Recorder(self._saved.recording)
            parts = self._open()
            live = self._take_up(parts, past)
            self._play(parts, live)
            finished = True
        except Stopped:
            pass
        except JitrlError as error:
            self.error = error
            self._tell(Notice("error", str(error)))
        finally:
            if parts is not None:
                if self._ahead is not None:
                    self._ahead.close()
                parts.close()
            ended = self._summary(finished)
            if self._recorder is not None:
                self._tell(ended)
                self._recorder.close()
                self._recorder = None
            else:
                self._emit(ended)
        return ended

    # -------------------------------------------------------------------------------------- opening

    def _open(self) -> Parts:
        """Open game, memory and model, telling what takes long."""
        web = self._config.game.startswith("web:")
        self._emit(Thinking("starting the browser" if web else "starting the game"))
        parts = open_parts(
            self._environment(),
            self._saved,
            self._saves,
            check=self.control.check,
            warn=lambda text: self._tell(Notice("warning", text)),
            progress=lambda text: self._emit(Thinking(text)),
            opened=self._watch_over,
        )
        self._settings = parts.settings
        for sentence in parts.replaced:
            self._tell(Notice("warning", sentence))
        if not self._config.game.startswith("web:"):
            self._ahead = open_ahead(self._environment, parts.model, self._config.seed)
        return parts

    def _watch_over(self, model: Model) -> None:
        """Let the person cancel the model's calls, and see when it has to wait."""
        model.on_wait(self._emit)
        self.control.on_stop(model.cancel)

    def _environment(self) -> Environment:
        if self._config.game.startswith("web:"):
            from engine.web.opening import open_web

            return open_web(self._config.game, self._saves, os.environ)
        if self._config.game.startswith("gym:"):  # HOOK gym: to be replaced by the registry of environments
            from engine.gym import open_gym

            return open_gym(self._config.game, self._saves, os.environ)
        from engine.games.catalogue import open_game

        return open_game(self._config.game, games=self._config.games, saves=self._saves)

    def _past(self) -> list[tuple[float, Event]]:
        if not self._saved.recording.is_file():
            return []
        return list(recording.read(self._saved.recording))

    def _take_up(self, parts: Parts, past: list[tuple[float, Event]]) -> Live | None:
        """Show what the recording holds, and bring the environment to where it ends."""
        config = self._config
        started = SessionStarted(
            session=self._saved.name,
            environment=parts.environment.info,
            agent=config.agent,
            model=config.model,
            seed=config.seed,
            profile=config.profile,
            episodes=config.episodes,
            steps=self._settings.step_limit,
            settings=to_plain(self._settings),
            memory_entries=len(parts.scope),
            resumed=bool(past),
            reading=parts.model.reading,
            replaced=parts.replaced,
        )
        if not past:
            self._tell(started)
            return None
        self._emit(started)
        self._begun = True
        unfinished: list[Event] = []
        for _, event in past:
            if isinstance(event, EpisodeEnded):
                self.results.append(event)
                self.episode = event.episode
                unfinished.clear()
            elif isinstance(event, EpisodeStarted):
                unfinished = [event]
            elif isinstance(event, (Decided, Stepped)):
                unfinished.append(event)
            elif isinstance(event, TakenBack):
                unfinished = [*recording.without_last_step(unfinished), event]
            if not isinstance(event, (SessionStarted, SessionEnded)):
                self._emit(event)
        if not unfinished:
            return None
        taken = sum(isinstance(event, Stepped) for event in unfinished)
        if taken and not parts.environment.info.repeatable:
            raise UsageError(recording.once_only(self.episode + 1, taken))
        return self._replay(parts, unfinished)

    def _replay(self, parts: Parts, events: list[Event]) -> Live | None:
        """Take the actions of an unfinished episode again."""
        first = events[0]
        if not isinstance(first, EpisodeStarted):
            raise BadFile(f"the recording {self._saved.recording} is damaged: an episode lacks its beginning")
        self._emit(Thinking("taking up the episode where it was left"))
        live = self._begin(parts, first.episode, first.uid)
        decision: Decision | None = None
        for event in events[1:]:
            self.control.check()
            if isinstance(event, TakenBack):
                live.tokens, live.cost_usd = event.tokens, event.cost_usd
            if isinstance(event, Decided):
                decision = event.decision
            elif isinstance(event, Stepped) and decision is not None:
                self._advance(parts, live, decision)
                if live.observation.text != event.observation.text:
                    self._emit(
                        Notice("warning", "the game answered differently this time; going on from here")
                    )
        return live

    # ------------------------------------------------------------------------------------- playing

    def _play(self, parts: Parts, live: Live | None) -> None:
        first = live.number if live else self.episode + 1
        for number in range(first, self._config.episodes + 1):
            self.control.check()
            if live is None:
                live = self._begin(parts, number, uuid.uuid4().hex)
                self._tell(EpisodeStarted(number, self._seed(number), live.observation, live.uid))
                self._show_page(parts, live)
            self.episode = number
            while not live.observation.done and len(live.steps) < self._settings.step_limit:
                self.control.check()
                try:
                    decision = self._decide(parts, live)
                except TakeBack:
                    live = self._take_back(parts, live)
                    self._show_page(parts, live)
                    continue
                before = live.observation.score
                self._advance(parts, live, decision)
                self._tell(
                    Stepped(
                        number,
                        decision.step,
                        decision.action,
                        live.observation,
                        live.observation.score - before,
                        decision.provenance,
                        live.tokens,
                        live.cost_usd,
                    )
                )
                self._show_page(parts, live)
            if not live.observation.done and isinstance(parts.environment, Concluding):
                live.observation = parts.environment.conclude()
            self._end(parts, live)
            live = None

    def _take_back(self, parts: Parts, live: Live) -> Live:
        """Return the episode without its last step, by taking all others again."""
        if not live.steps:
            self._emit(Notice("info", "There is no step to take back: the episode has just begun."))
            return live
        if not parts.environment.info.repeatable:
            self._emit(Notice("warning", ONCE_ONLY))
            return live
        before = live
        live = self._begin(parts, before.number, before.uid)
        for decision in before.decisions[:-1]:
            self._advance(parts, live, decision)
        live.started, live.tokens, live.cost_usd = before.started, before.tokens, before.cost_usd
        live.tally = before.tally
        action = before.decisions[-1].action
        self._tell(
            TakenBack(live.number, action, len(live.steps), live.observation, live.tokens, live.cost_usd)
        )
        return live

    def _show_page(self, parts: Parts, live: Live) -> None:
        """Keep what can be seen now, where there is anything; what cannot be kept is said once."""
        if not isinstance(parts.environment, Visible):
            return
        if self._pages is None:
            from engine.web.browser.pages import PageStore

            self._pages = PageStore(self._saved.folder)
        shown, trouble = self._pages.keep(parts.environment.sight(), live.number, len(live.steps))
        if trouble:
            self._tell(Notice("warning", trouble))
        self._tell(shown)

    def _seed(self, number: int) -> int:
        """Return what an episode of the environment is seeded with: each begins as the first one did."""
        return self._config.seed

    def _begin(self, parts: Parts, number: int, uid: str) -> Live:
        observation = parts.environment.reset(self._seed(number))
        abstractor = self._abstractor(parts)
        started = self._clock()
        state = abstractor.begin(observation)
        parts.agent.begin_episode(state)
        live = Live(number, uid, observation, state, abstractor, started)
        self._account(live)
        return live

    def _abstractor(self, parts: Parts) -> Abstractor:
        def notice(text: str) -> None:
            self.control.check()  # a model that was cancelled because the person leaves is no failure
            self._tell(Notice("warning", text))

        def missed() -> None:
            self._unwritten += 1

        writing = Writing(parts.model, self._settings, notice, self._summaries.append, missed)
        return parts.environment.abstractor().written(writing)

    def _account(self, live: Live) -> None:
        """Put what was written, or was to be, on the account of the episode."""
        while self._summaries:
            live.add(self._summaries.pop())
        live.count(Tally(unwritten=self._unwritten))
        self._unwritten = 0

    def _decide(self, parts: Parts, live: Live) -> Decision:
        valid = parts.environment.valid_actions() or FALLBACK_ACTIONS
        step = len(live.steps)
        turn = Turn(
            step=step,
            steps_left=self._settings.step_limit - step,
            observation=live.observation,
            state=live.state,
            valid_actions=valid,
            present=live.abstractor.situation(live.observation),
            recent=live.abstractor.recent(self._settings.recent_steps),
            resolve=_resolver(parts.environment),
            episode=live.number,
            episodes=self._config.episodes,
        )
        while True:
            try:
                # Seeded by place in the run, not by history: a resumed run draws what it would have drawn.
                rng = np.random.default_rng([self._config.seed, live.number, step])
                self._emit(Thinking("thinking"))
                decision = parts.agent.decide(turn, rng)
                break
            except (ModelError, MissingError) as error:
                self.control.check()
                self._pause_for(error)
        self._tell(Decided(live.number, decision))
        action = self._gate(live, decision)
        if action is not None:
            resolve = turn.resolve
            decision = overrule(decision, (resolve(action) if resolve else None) or action)
            self._tell(Decided(live.number, decision))
        return decision

    def _gate(self, live: Live, decision: Decision) -> str | None:
        """Let the person see the decision; return their own action if they gave one."""
        if self._ahead is None or not self.control.waits(live.number):
            return self.control.gate(live.number, self._waiting)
        shown = [*(past.action for past in live.decisions), decision.action]
        with self._ahead.beyond(shown) as decided:
            action = self.control.gate(live.number, self._waiting)
            decided(action is None or action == decision.action)
        return action

    def _advance(self, parts: Parts, live: Live, decision: Decision) -> None:
        live.account(decision)
        step = live.take(decision, parts.environment.step(decision.action))
        self._account(live)
        parts.agent.observe(step, live.state, ended=live.observation.done, died=live.observation.died)

    def _end(self, parts: Parts, live: Live) -> None:
        """Judge the episode, remember it, tell about it (step 7)."""
        last = live.observation
        self._emit(Thinking("judging the episode"))
        judged = parts.evaluator.rewards(live.trajectory())
        if judged.note:
            self._tell(Notice("warning", judged.note))
        for call in judged.calls:
            live.add(call)
        if judged.calls:
            live.count(Tally(unjudged=len(live.steps) - len(judged.scored)))
        episode = live.episode(self._saved, parts.environment.info.scope, judged.rewards, self._clock())
        added = self._remember(parts, episode) if parts.agent.learns else 0
        parts.agent.end_episode(*parts.scope.kept(episode))
        ended = EpisodeEnded(
            episode=live.number,
            score=last.score,
            max_score=last.max_score,
            steps=len(episode.steps),
            done=last.done,
            won=last.won,
            died=last.died,
            rewards=judged.rewards,
            returns=tuple(map(float, self._returns(judged.rewards))),
            memory_entries=len(parts.scope),
            entries_added=added,
            tokens=live.tokens,
            cost_usd=live.cost_usd,
            wall_s=episode.wall_s,
            flips=live.flips,
            tally=live.tally,
        )
        self.results.append(ended)
        self._tell(ended)

    def _returns(self, rewards: tuple[float, ...]) -> jitrl.Array:
        if self._settings.zero_rewards == "own":
            from engine.memory.returns import own_returns

            return own_returns(rewards, self._settings.gamma)
        return jitrl.discounted_returns(rewards, self._settings.gamma)

    def _remember(self, parts: Parts, episode: Episode) -> int:
        while True:
            try:
                return parts.scope.append(episode)
            except StorageError as error:
                self._pause_for(error)

    # ------------------------------------------------------------------------------------- telling

    def _pause_for(self, error: JitrlError) -> None:
        """Wait until the person has mended what went wrong; without a person, give up."""
        if not self._interactive:
            raise error
        self._emit(Notice("warning", str(error)))
        self.control.wait_for_resume(lambda: self._emit(Paused(str(error))))
        self._emit(Resumed())

    def _waiting(self, begins: bool) -> None:
        self._emit(Paused() if begins else Resumed())

    def _tell(self, event: Event) -> None:
        """Record an event, then show it. A recording that fails is said once; play goes on."""
        self._begun = self._begun or isinstance(event, SessionStarted)
        if self._recorder is not None and self._begun:
            try:
                self._recorder.write(event, self._clock())
            except StorageError as error:
                self._recorder.close()
                self._recorder = None
                self._emit(
                    Notice("warning", f"{error}; play goes on, but this session can't be resumed from here")
                )
        self._emit(event)

    def _summary(self, finished: bool) -> SessionEnded:
        scores = [result.score for result in self.results]
        average = sum(scores) / len(scores) if scores else 0.0
        return SessionEnded(finished, len(scores), average, scores[-1] if scores else 0.0)


def _resolver(environment: Environment) -> Callable[[str], str | None] | None:
    return environment.resolve if isinstance(environment, OpenActions) else None
