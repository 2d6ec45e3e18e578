"""The graph estimator: V and Q from plans through everything remembered.

The paper's estimator averages the returns of similar steps, so it sees a few steps ahead and cannot join parts of
different episodes. This one reads memory as transitions (`engine.values.model`), plans through them within the steps
left (`engine.values.planner`), and makes one plan for a decision, or goes on with the one in force. The plan's first
step is worth the whole plan. Any other candidate is worth that, less the delay and the risk of doing it first. The
closed-form update z′ = z + β·Ã is the same.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine import jitrl
from engine.records import Candidate, CorrectedStep, Episode, Neighbour, State, Step, Valuation
from engine.settings import Settings
from engine.settings.plan import PlanNumbers
from engine.values.base import Estimator, Query
from engine.values.explanation import PlanBasis, Sources, digest
from engine.values.exploration import Exploration
from engine.values.model import WorldModel
from engine.values.paths import EpisodeProgress, ImaginedSituation, Paths, PlanTask
from engine.values.planner import Planner
from engine.values.plans import NOTHING, TERMS, Plan, Terms
from engine.values.text import Situation, situation
from engine.values.trails import Trails, TrailStep


class GraphEstimator(Estimator):
    """V and Q by planning. Learns from a whole memory at first, then step by step.

    Args:
        episodes: Those in memory, oldest first, each with the entry number of its step 0.
        numbers: What it believes before it has seen anything, and how far plans are searched.
        known: What another one had `learnt` by these numbers from episodes that are not among these.
    """

    def __init__(
        self,
        episodes: Iterable[tuple[int, Episode]],
        settings: Settings,
        numbers: PlanNumbers | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings
        self._n = numbers = numbers or PlanNumbers()
        self._model = WorldModel(numbers)
        self._planner = Planner(self._model, numbers)
        self._trails = Trails(self._model, numbers)
        self._sources = Sources(settings.gamma)
        self._basis = PlanBasis(self._sources)
        self._liking: dict[str, dict[str, float]] = {}
        self._exploration = Exploration(self._planner, self._trails, numbers)
        self._progress = EpisodeProgress()
        self._kept = b""
        """What it had learnt when the episode began, as a pickle."""
        self._begin()
        vars(self).update(known or {})
        for first, episode in episodes:
            self._learn_episode(episode, first)

    def change(self, settings: Settings) -> None:
        """Use other values of curiosity and prior_weight from now on."""
        self._settings = settings

    @property
    def learnt(self) -> dict[str, Any]:
        """All that it has become by learning, to make another one of."""
        return {name: value for name, value in vars(self).items() if name not in ("_settings", "_kept")}

    @classmethod
    def takes(cls, known: object) -> bool:
        """Return whether something has the parts of what one has `learnt`."""
        parts = cls((), Settings()).learnt
        return isinstance(known, dict) and {n: type(part) for n, part in known.items()} == {
            n: type(part) for n, part in parts.items()
        }

    @property
    def model(self) -> WorldModel:
        """What is known, for maps and explanations."""
        return self._model

    # ----------------------------------------------------------------------------------------- learning

    def begin_episode(self, state: State) -> None:
        """Begin anew: plans and progress are of one episode."""
        self._begin()

    def keep(self) -> None:
        """Keep what was learnt until now."""
        self._kept = pickle.dumps(self.learnt, protocol=5)

    def take_back(self) -> None:
        """Be as at the last `keep`."""
        vars(self).update(pickle.loads(self._kept))

    def _begin(self) -> None:
        """End the last episode, if there was one, and forget what only concerned it."""
        self._trails.close()
        self._exploration.end(self._progress)
        self._progress = EpisodeProgress()
        self._plan, self._collected = NOTHING, 0.0
        """The plan being followed, and the part of its known value already collected."""
        self._on_trial = False
        """Whether the plan is followed as long as it is possible, to see what comes of it."""
        self._expected: ImaginedSituation | None = None
        self._model.begin_episode()
        self._sources.begin()

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """Learn from the step just taken, and see how the plan in force goes on."""
        now, after, points = self._learn(step, then, terminated=terminated, died=lost, running=True)
        progress, key = self._progress, (now.place, step.action)
        if after == now and step.env_reward <= 0 and not terminated:
            progress.idle[key] += 1
            if progress.idle[key] >= self._n.patience:
                progress.failed.add(key)
        if self._plan.actions and self._plan.actions[0] == step.action:
            self._plan = dataclasses.replace(self._plan, actions=self._plan.actions[1:])
            self._collected = min(max(0.0, self._plan.known), self._collected + max(0.0, points))
        else:
            self._expected, self._on_trial = None, False

    def remembered(self, episode: Episode, first: int) -> None:
        """From now on the steps of this episode, which ended just now, are shown where plans repeat them."""
        self._sources.remember(episode, first)

    def stored_elsewhere(self, episode: Episode, first: int) -> None:
        """Learn from an episode that another session stored, as from those that were there at first."""
        self._begin()
        self._learn_episode(episode, first)

    def _learn_episode(self, episode: Episode, first: int) -> None:
        """Learn from a remembered episode.

        Args:
            first: The entry number of its step 0.
        """
        for step, following in itertools.zip_longest(episode.steps, episode.steps[1:]):
            then = following.state if following is not None else episode.final
            if not step.state.tokens or not then.tokens:
                self._skip(step)
                continue  # forgotten, or followed by a step that is: where it led is not known
            terminated = following is None and episode.terminated
            died = terminated and episode.outcome == "lost"
            self._learn(step, then, terminated=terminated, died=died, running=False)
        self._sources.remember(episode, first)
        self._begin()

    def _skip(self, step: Step) -> None:
        """Learn no more of a remembered step than the situation it was taken in, if that is known.

        What comes after it begins anew: it is no continuation of what came before.
        """
        if step.state.tokens:
            now = situation(step.state)
            self._arrive(now)
            self._model.see(now, step.valid_actions)
        self._model.begin_episode()
        self._trails.lose()

    def _learn(
        self, step: Step, then: State, *, terminated: bool, died: bool, running: bool
    ) -> tuple[Situation, Situation, float]:
        """Learn from one step, remembered or of the running episode.

        Returns:
            The situations before and after it, and the points that it counts with.
        """
        now, after = situation(step.state), situation(then)
        progress, key = self._progress, (now.place, step.action)
        self._sources.take(now, step if running else None)
        self._arrive(now)
        self._model.see(now, step.valid_actions)
        fresh, reward, given = key not in progress.gained, step.env_reward, None
        if isinstance(step, CorrectedStep):
            reward, given = step.own_reward, step.env_reward
        progress.score += reward
        progress.new_points += max(0.0, reward) * (key not in self._model.scored)
        progress.place_found |= not terminated and after.place not in self._model.places
        self._model.learn(now, step.action, reward, after, terminated=terminated, died=died, fresh=fresh, given=given)
        trail_step = TrailStep(now, step.action, reward, after, died, terminated, given)
        self._trails.add(trail_step, digest(then.tokens), fresh=fresh, possible=step.valid_actions)
        points = self._model.points(key, reward) if fresh and key not in progress.corrected else reward
        progress.tried[key] += 1
        if reward > 0:
            progress.gained.add(key)
        if points > 0:
            progress.corrected.add(key)
        progress.world[now.place] = now.see
        if not terminated:  # an episode's last step may lead to a new place, too
            self._arrive(after)
            progress.world[after.place] = after.see
        return now, after, points

    def _arrive(self, now: Situation) -> None:
        """Take note of what a place looks like to who first comes there."""
        if now.place not in self._progress.world:
            self._model.arrive(now)
            self._progress.world[now.place] = now.see

    # ----------------------------------------------------------------------------------------- valuing

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Nothing: similar states have no part in plans. What plans are made of comes with the values."""
        return ()

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return every valid action: the first step of the best plan must not depend on the model's taste."""
        return valid_actions

    def decided(self, query: Query, rng: np.random.Generator) -> None:
        """Keep what `also` and `value` kept when this was decided."""
        self.also(query.state, query.valid_actions)
        self.value(query, rng)

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V, and Q as a sum of gains, discoveries, delay and risk."""
        model, candidates, c = self._model, query.candidates, len(query.candidates)
        now = situation(query.state)
        self._arrive(now)
        if model.see(now, query.valid_actions):
            self._expected = None  # there is something here that no plan has thought of
        if not model.tried:
            return Valuation(0.0, (0.0,) * c, (0,) * c, (jitrl.PRIOR,) * c)
        self._hear(now, candidates)
        paths = self._planner.paths(self._task(now, query))
        plan = self._current_plan(now, paths)
        terms = Terms(model, self._n, plan, self._collected, paths, self._trails.histories)
        parts = [terms.of(candidate.action, now) for candidate in candidates]
        q = [sum(part) for part in parts]
        tried = [model.tried[(now.place, candidate.action)] for candidate in candidates]
        others = (c.action for c, n in zip(candidates, tried, strict=True) if n and c.action not in plan.actions[:1])
        in_episode = [self._progress.tried[(now.place, candidate.action)] for candidate in candidates]
        return Valuation(
            v=float(np.dot(jitrl.softmax([candidate.z for candidate in candidates]), q)),
            q=tuple(q),
            n=tuple(tried),
            how=tuple(jitrl.KNOWN if n else jitrl.OPTIMISTIC for n in tried),
            terms={name: tuple(part[i] for part in parts) for i, name in enumerate(TERMS)},
            hits=self._basis.hits(len(plan.actions), now, digest(query.state.tokens), others),
            plan=self._basis.account(plan, now.place, query.to_gain, map(min, tried, in_episode)),
        )

    def _task(self, now: Situation, query: Query) -> PlanTask:
        """Return what a plan is made for here and now."""
        here = ImaginedSituation(now.place, now.have, {**self._progress.world, now.place: now.see})
        valid = frozenset(query.valid_actions)
        curiosity = self._settings.curiosity * query.outlook
        task = PlanTask(here, query.steps_left, self._progress, valid, curiosity, self._liking, query.to_gain)
        if self._exploration.reserve is None:
            self._exploration.settled = query.outlook < 1.0
            self._decide_how(now, task)
        return dataclasses.replace(task, reserve=self._exploration.reserve) if self._exploration.reserve else task

    def _decide_how(self, now: Situation, task: PlanTask) -> None:
        """Decide how this episode is played."""
        trial = self._exploration.decide(task, lambda task: self._planned(now, task))
        if trial is not None:
            self._plan, self._on_trial = trial, True
            self._basis.use_plan(trial, task.now.world, self._model.gains, task.progress.gained)

    def _current_plan(self, now: Situation, paths: Paths) -> Plan:
        """Return the plan in force if all went as expected, else a new one."""
        plan, expected, task = self._plan, self._expected, paths.task
        as_expected = (
            expected is not None
            and (expected.place, expected.have) == (now.place, now.have)
            and expected.world.get(now.place, now.see) == now.see
        )
        follows = (as_expected or self._on_trial) and bool(plan.actions) and plan.actions[0] in task.valid
        if not follows:
            if self._on_trial and plan.actions:
                self._trails.histories.refuse(plan.actions[0])
            plan, self._collected, self._on_trial = self._new_plan(now, task), 0.0, False
            if not self._progress.tried:
                self._exploration.expect(plan)
            self._basis.use_plan(plan, task.now.world, self._model.gains, paths.gained)
        self._plan = plan
        done = paths.do(task.now, plan.actions[0]) if plan.actions else None
        self._expected = done.at if done is not None else None
        return plan

    def _new_plan(self, now: Situation, task: PlanTask) -> Plan:
        """Return the best plan that begins with something possible, and was not made here too often already."""
        progress = self._progress
        for _ in range(2 * self._n.patience):
            plan = self._planned(now, task)
            if self._exploration.repeats(plan, task):
                if plan.detour is not None:
                    progress.failed.add(plan.goal)
                    continue
                self._exploration.give_up(plan)
                task = dataclasses.replace(task, reserve=self._exploration.reserve or 0)
                plan = self._planned(now, task)
            if not plan.actions:
                break
            if plan.actions[0] not in task.valid:
                # Memory takes it for possible and it is not: not again in this episode.
                progress.failed.add((now.place, plan.actions[0]))
                progress.tried[(now.place, plan.actions[0])] += 1
                continue
            often = self._n.patience if len(plan.actions) < 2 else self._n.patience - 1
            if progress.planned[(now, plan.goal)] < often:
                progress.planned[(now, plan.goal)] += 1
                return plan
            # Again and again here on the way to it: it is not where memory has it.
            progress.failed.add(plan.goal)
        return NOTHING

    def _planned(self, now: Situation, task: PlanTask) -> Plan:
        """Return the best plan for a task."""
        gained, unedited, steps = task.progress.gained, None, max(0, task.steps - task.reserve)
        if self._model.edits:
            with self._model.edits.ignored():
                unedited = self._trails.from_here(now, steps, task.valid, gained)
            gained = gained | task.progress.corrected
        trails = self._trails.from_here(now, steps, task.valid, gained)
        plan = self._planner.plan(task, trails, unedited)
        if task.reserve and plan.detour is None and not self._exploration.aimless:  # nothing is left to discover
            return self._planned(now, dataclasses.replace(task, reserve=0))
        return plan

    def _hear(self, now: Situation, candidates: tuple[Candidate, ...]) -> None:
        """Keep the model's opinion of the actions here: it makes untried ones more or less promising."""
        weight, most = self._settings.prior_weight, self._n.opinion
        known = self._liking.get(now.place, {})
        heard = {
            candidate.action: math.exp(min(most, max(-most, weight * candidate.z)))
            for candidate in candidates
            if candidate.source in ("llm", "both")
        }
        if not heard.items() <= known.items():
            self._liking[now.place] = {**known, **heard}
