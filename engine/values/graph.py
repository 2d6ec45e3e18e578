"""The graph estimator: V and Q from plans through everything remembered.

The paper's estimator averages the returns of similar steps, so it sees a few steps ahead and cannot join
parts of different episodes. This one reads memory as transitions (`engine.values.experience`), plans
through them within the steps left (`engine.values.planner`), and returns for each candidate what the best
plan that begins with it is worth. The closed-form update z' = z + beta * A is the same.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from engine import jitrl
from engine.records import Candidate, Episode, Neighbour, State, Step, Valuation
from engine.settings import Settings
from engine.values.base import Query
from engine.values.conditions import union
from engine.values.experience import Experience, Key
from engine.values.frontier import Frontier
from engine.values.hazards import DEADLY
from engine.values.hits import Basis
from engine.values.planner import Imagined, Plan, Planner, PlannerSettings, Progress
from engine.values.shortening import shortened
from engine.values.situations import Situation
from engine.values.sources import Sources, digest
from engine.values.trails import Trails, TrailStep

_PLANS = 6
"""Plans made at one step before it is taken without one."""
_TOO_DANGEROUS = 0.3
"""Probability of dying above which nothing is tried for its own sake."""
_WAIT = "wait"
_RESORT = 0.1
"""What doing something for the first time is worth where nothing better is known, per unit of curiosity."""
_PATIENCE = 3
"""Times that an action may do nothing in an episode before plans do without it."""
_CHECKS = 2
"""Times that a way is looked at again in an episode because something was done since it was barred."""
_DEPARTURES = 2
"""Times that one sets out for the same thing from the same situation in an episode."""
_DREAD = 0.3
"""Share of the plan's value that an action gives up by which one dies for certain, beyond what waiting costs."""
_LEAST_REGRET = 0.05
"""Share of the plan's value that any action outside it gives up at least, and as many points."""


class EpisodicMemory(Protocol):
    """The read side of a memory scope that can tell whole episodes."""

    def entered(self) -> Iterable[tuple[int, Episode]]:
        """Return all episodes, oldest first, each with the entry number of its step 0."""
        ...


class GraphEstimator:
    """V and Q by planning. Reads the whole memory once, then grows step by step.

    Args:
        before: Entry number from which on memory is not read, None to read all of it.
    """

    def __init__(self, memory: EpisodicMemory, settings: Settings, before: int | None = None) -> None:
        self._settings = settings
        self._experience = Experience()
        self._limits = PlannerSettings(curiosity=settings.curiosity)
        self._planner = Planner(self._experience, self._limits)
        self._progress = Progress()
        self._trails = Trails()
        self._frontier = Frontier()
        self._sources = Sources(settings.gamma, self._experience.read)
        self._basis = Basis(self._sources)
        self._liking: dict[str, dict[str, float]] = {}
        self._points = [0.0]
        self._most = 0.0
        self._plan = Plan(0.0, 0.0, ())
        self._had = 0.0
        """Of what the plan in force was made for, the points that it gained by now."""
        self._expected: Imagined | None = None
        self._last: tuple[Step, State, bool, bool] | None = None
        """The last step, until it is known what can be done after it."""
        for first, episode in memory.entered():
            if before is None or first < before:
                self._relive(episode, first)

    @property
    def experience(self) -> Experience:
        """What is known, for maps and explanations."""
        self._catch_up(None)
        return self._experience

    def begin_episode(self, state: State) -> None:
        """Forget what only concerned the last episode."""
        self._catch_up(None)
        self._most = max(self._most, *self._points, 0.0)
        self._points = [0.0]
        self._trails.close(self._shortened)
        self._progress = Progress()
        self._plan, self._expected = Plan(0.0, 0.0, ()), None
        self._experience.begin_episode()
        self._sources.begin()

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """Learn from the step just taken, as soon as it is known what can be done after it."""
        self._catch_up(step.valid_actions)
        self._last = step, then, terminated, lost
        if terminated:
            self._catch_up(None)

    def remembered(self, episode: Episode, first: int) -> None:
        """From now on the steps of this episode, which ended just now, are shown where plans repeat them."""
        self._catch_up(None)
        self._sources.remember(episode, first)

    def _catch_up(self, possible: tuple[str, ...] | None) -> None:
        """Learn from the last step.

        Args:
            possible: What can be done now, None if that is not known.
        """
        if self._last is None:
            return
        (step, then, terminated, died), self._last = self._last, None
        now, after = self._experience.reader.read_step(step, then, possible)
        self._arrive(now)
        self._sources.take(now, step)
        self._experience.see(now, step.valid_actions)
        fresh = (now.place, step.action) not in self._progress.gained
        self._experience.learn(
            now, step.action, step.env_reward, after, terminated=terminated, died=died, fresh=fresh
        )
        self._frontier.see(now, step.valid_actions)
        self._frontier.add(now, step.action, after, terminated=terminated)
        self._trails.add(
            TrailStep(now, step.action, step.env_reward, after, died, terminated), hash(then.tokens)
        )
        key, progress = (now.place, step.action), self._progress
        self._points.append(self._points[-1] + step.env_reward)
        progress.tried[key] += 1
        if step.env_reward > 0:
            progress.gained.add(key)
        if step.action not in self._experience.moves:
            # Whatever was done may have opened a way; but nobody looks at every door after everything done.
            progress.barred = {way for way in progress.barred if progress.checked[way] >= _CHECKS}
        progress.world[now.place] = now.see
        if terminated:
            return
        if after == now and step.env_reward <= 0:
            progress.idle[key] += 1
            if progress.idle[key] >= _PATIENCE:
                progress.failed.add(key)
        self._arrive(after)
        progress.world[after.place] = after.see
        if self._plan.actions and self._plan.actions[0] == step.action:
            self._plan = dataclasses.replace(self._plan, actions=self._plan.actions[1:])
            self._had = min(max(0.0, self._plan.known), self._had + max(0.0, step.env_reward))
        else:
            self._expected = None

    def _arrive(self, now: Situation) -> None:
        """Take note of what a place looks like to who first comes there."""
        if now.place not in self._progress.world:
            self._experience.arrive(now)
            self._progress.world[now.place] = now.see

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Nothing: similar states have no part in plans. What plans are made of comes with the values."""
        return ()

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return every valid action: the first step of the best plan must not depend on the model's taste.

        Where one dies of leaving, waiting is a choice, too, though it changes nothing and so is not among them.
        """
        self._catch_up(valid_actions)
        now = self._experience.read(state, valid_actions)
        trapped = self._experience.dangers.hazard(now.place, union(now.have, now.see), moving=True) > DEADLY
        return (*valid_actions, _WAIT) if trapped and _WAIT not in valid_actions else valid_actions

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V, and Q as a sum of gains, discoveries, delay and risk."""
        self._catch_up(query.valid_actions)
        now = self._experience.read(query.state, query.valid_actions)
        self._arrive(now)
        candidates = query.candidates
        self._planner.value_discoveries(self._settings.curiosity * query.outlook)
        self._frontier.see(now, query.valid_actions)
        if self._experience.see(now, query.valid_actions):
            self._expected = None  # there is something here that no plan has thought of
        if not self._experience.tried:
            c = len(candidates)
            return Valuation(0.0, (0.0,) * c, (0,) * c, (jitrl.PRIOR,) * c)
        self._hear(now, candidates)
        here = Imagined(now.place, now.have, {**self._progress.world, now.place: now.see})
        plan = self._current_plan(now, here, query)
        parts = [self._terms(candidate.action, now, plan, query.steps_left) for candidate in candidates]
        q = [sum(part) for part in parts]
        weights = jitrl.softmax([candidate.z for candidate in candidates])
        tried = [self._experience.tried[(now.place, candidate.action)] for candidate in candidates]
        first = plan.actions[:1]
        others = (c.action for c, n in zip(candidates, tried, strict=True) if n and c.action not in first)
        return Valuation(
            v=float(np.dot(weights, q)),
            q=tuple(q),
            n=tuple(tried),
            how=tuple(jitrl.KNOWN if n else jitrl.OPTIMISTIC for n in tried),
            terms={
                name: tuple(part[i] for part in parts)
                for i, name in enumerate(("gain", "discovery", "delay", "risk"))
            },
            hits=self._basis.hits(len(plan.actions), now, digest(query.state.tokens), others),
            plan=self._basis.account(
                plan,
                now.place,
                query.to_gain,
                (min(n, self._progress.tried[(now.place, c.action)]) for c, n in zip(candidates, tried, strict=True)),
            ),
        )

    def again(self, query: Query, rng: np.random.Generator) -> None:
        """Keep what `also` and `value` kept when this was decided."""
        self.also(query.state, query.valid_actions)
        self.value(query, rng)

    # ----------------------------------------------------------------------------------------- parts

    def _current_plan(self, now: Situation, here: Imagined, query: Query) -> Plan:
        """Return the plan in force if all went as expected, else a new one."""
        plan, deadly = self._plan, self._trails.deadly
        self._look_for_ways(now.place, query.valid_actions)
        # Who does all as in an earlier episode meets the same luck: not what killed then.
        valid = tuple(action for action in query.valid_actions if action not in deadly) or query.valid_actions
        # Who only repeats what was done before learns nothing by it, and can still do so at the end of the run.
        complete = query.to_gain is not None and self._points[-1] + query.to_gain <= self._most
        as_before = complete or query.outlook < 1.0 or not self._trails.repeated
        expected = self._expected
        as_expected = (
            expected is not None
            and (expected.place, expected.have) == (now.place, now.have)
            and expected.world.get(now.place, now.see) == now.see
        )
        if not (as_expected and plan.actions and plan.actions[0] in valid) or self._is_deadly(now, plan):
            if as_expected and plan.actions and plan.actions[0] not in query.valid_actions:
                # Memory is wrong about it. Where things are not as expected, what was to make it possible failed.
                self._experience.miss((now.place, plan.actions[0]))
            for _ in range(_PLANS):
                trails = self._trails.from_here(
                    now, query.steps_left, 8, valid, self._progress.gained, as_before=as_before
                )
                plan = self._planner.plan(
                    here,
                    query.steps_left,
                    self._progress,
                    self._liking,
                    trails,
                    valid,
                    query.to_gain,
                )
                if not plan.actions:
                    break
                again = _PATIENCE if len(plan.actions) < 2 else _DEPARTURES
                if plan.actions[0] in valid and self._progress.planned[(now, plan.goal)] < again:
                    self._progress.planned[(now, plan.goal)] += 1
                    break
                if plan.actions[0] in valid:
                    # Again and again here on the way to it: it is not where memory has it.
                    self._progress.failed.add(plan.goal)
                    self._experience.miss(plan.goal)
                    continue
                # Memory takes it for possible and it is not: not again in this episode.
                self._progress.failed.add((now.place, plan.actions[0]))
                self._progress.tried[(now.place, plan.actions[0])] += 1
            else:
                plan = Plan(0.0, 0.0, ())
            if not plan.actions:
                plan = self._last_resort(now, query)
            self._had = 0.0
            way = self._frontier.along(now, plan.actions)
            self._basis.rest_on(plan, way, here.world, self._experience.gains, self._progress.gained)
        self._plan = plan
        self._expected = self._planner.imagine(here, plan.actions[0]) if plan.actions else None
        return plan

    def _look_for_ways(self, place: str, valid: tuple[str, ...]) -> None:
        """Note which ways out that memory has are possible."""
        progress = self._progress
        for action, _ in self._experience.exits(place):
            way = (place, action)
            if action in valid:
                progress.barred.discard(way)
            elif way not in progress.barred:
                progress.barred.add(way)
                progress.checked[way] += 1

    def _is_deadly(self, now: Situation, plan: Plan) -> bool:
        """Return whether the next step is likely deadly as things are: a plan may have hoped for a light."""
        outcome = self._experience.outcome((now.place, plan.actions[0]), union(now.have, now.see))
        return outcome is not None and outcome.death > _TOO_DANGEROUS

    def _terms(
        self, action: str, now: Situation, plan: Plan, steps_left: int
    ) -> tuple[float, float, float, float]:
        """Return (gain, discovery, delay, risk) of one candidate; their sum is Q."""
        # What the plan gained already is not to come any more; all else about it stands, and all candidates lose alike.
        to_come = plan.known - self._had
        if plan.actions and action == plan.actions[0]:
            return to_come, plan.value - plan.known, 0.0, 0.0
        key = (now.place, action)
        risk = self._experience.death(key, union(now.have, now.see))
        killed = self._trails.faithfulness if action in self._trails.deadly else 0.0
        # Dying forfeits the plan. What it costs is left to the planner: all of it would stretch the scale here that
        # advantages are normalised by, until all living choices looked alike, and the prior's taste chose among them.
        loss = -_DREAD * (abs(plan.value) + 1.0) * max(risk, killed)
        own = self._planner.novelty(key, self._liking) / (1 + self._progress.tried[key])
        if not plan.actions:
            # Nothing is worth a plan: what was done least in just this situation may show something yet.
            rare = self._limits.curiosity / (1.0 + self._experience.tried_so[(now, action)])
            dark = self._planner.darkening(now.place, now.have, action)
            risk = max(self._experience.risk(now, action), dark, killed)
            return 0.0, (1.0 - risk) * max(own, rare), 0.0, -risk * self._planner.price(steps_left)
        # Whatever else is done first, the plan has to wait for it, and for the way back.
        if key in self._experience.gains and key not in self._progress.gained:
            own += self._experience.gain(key, union(now.have, now.see))
        least = _LEAST_REGRET * (abs(plan.value) + 1.0)
        delay = max(least, plan.value * min(1.0, 2.0 / max(1, steps_left)) - own)
        return to_come, plan.value - plan.known, -delay, loss

    def _last_resort(self, now: Situation, query: Query) -> Plan:
        """Return a plan for the nearest thing never done in just the situation it was possible in."""

        def promise(at: Situation, action: str) -> float:
            if deadly(at, action):
                return 0.0
            risk = max(self._experience.risk(at, action), self._planner.darkening(at.place, at.have, action))
            novelty = self._planner.novelty((at.place, action), self._liking)
            return (1.0 - risk) * novelty - risk * self._planner.price(query.steps_left)

        def deadly(at: Situation, action: str) -> bool:
            killed = at == now and action in self._trails.deadly
            return killed or self._experience.risk(at, action) > _TOO_DANGEROUS

        if self._limits.curiosity <= 0.0:
            return Plan(0.0, 0.0, ())
        way = self._frontier.toward(now, query.steps_left, promise, deadly)
        tries = (("", way[-1]),) if way else ()
        return Plan(_RESORT * self._limits.curiosity if way else 0.0, 0.0, way, tries=tries)

    def _shortened(self, steps: list[TrailStep]) -> list[TrailStep] | None:
        x = self._experience
        return shortened(steps, x, x.dangers.helps)

    def _hear(self, now: Situation, candidates: tuple[Candidate, ...]) -> None:
        """Keep the model's opinion of the actions here: it makes untried ones more or less promising."""
        weight = self._settings.prior_weight
        known = self._liking.get(now.place, {})
        heard = {
            candidate.action: math.exp(min(1.5, max(-1.5, weight * candidate.z)))
            for candidate in candidates
            if candidate.source in ("llm", "both")
        }
        if not heard.items() <= known.items():
            self._liking[now.place] = {**known, **heard}

    def _relive(self, episode: Episode, first: int) -> None:
        """Learn from a remembered episode.

        Args:
            first: The entry number of its step 0.
        """
        self._sources.begin()
        self._experience.begin_episode()
        visited: set[str] = set()
        gained: set[Key] = set()
        points = most = 0.0
        for number, step in enumerate(episode.steps):
            last = number == len(episode.steps) - 1
            then = episode.final if last else episode.steps[number + 1].state
            possible = None if last else episode.steps[number + 1].valid_actions
            if not step.state.tokens or not then.tokens:
                self._trails.skip()
                continue  # forgotten, or followed by a step that is: where it led is not known
            now, after = self._experience.reader.read_step(step, then, possible)
            self._sources.take(now)
            if now.place not in visited:
                self._experience.arrive(now)
                visited.add(now.place)
            terminated = last and episode.terminated
            self._experience.see(now, step.valid_actions)
            died = terminated and episode.outcome == "lost"
            fresh = (now.place, step.action) not in gained
            self._experience.learn(
                now, step.action, step.env_reward, after, terminated=terminated, died=died, fresh=fresh
            )
            if step.env_reward > 0:
                gained.add((now.place, step.action))
            points += step.env_reward
            most = max(most, points)
            self._frontier.see(now, step.valid_actions)
            self._frontier.add(now, step.action, after, terminated=terminated)
            self._trails.add(
                TrailStep(now, step.action, step.env_reward, after, died, terminated), hash(then.tokens)
            )
            # An episode's last step may lead to a new place, too.
            if not terminated and after.place not in visited:
                self._experience.arrive(after)
                visited.add(after.place)
        self._sources.remember(episode, first)
        self._most = max(self._most, most)
        self._trails.close(self._shortened)
