"""The model of a world: what all remembered steps together say of places, moves, actions and dangers.

Every step is a transition (s, a, r, s'). From all of them is learnt, without any knowledge of a particular game:

* what an action needs (`engine.values.preconditions`) and what it does (`engine.values.effects`);
* where moves lead, and what places look like;
* where points were gained;
* where one dies, and what lifts that danger (`engine.values.hazards`);
* what trying something new brings (`engine.values.counts`).

`WorldModel.see` learns a situation, and `WorldModel.learn` the step taken in it, remembered or of the running episode.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from engine.settings.plan import PlanNumbers
from engine.values.counts import Yields
from engine.values.effects import Effects, ExpectedOutcome, PlaceViews
from engine.values.hazards import Hazards
from engine.values.preconditions import Makers, Preconditions
from engine.values.text import EMPTY, Key, Situation, Tokens, concerns, objects, verb, words_of


class Edits:
    """What persons say that actions are worth: the points they gave to remembered steps in place of the environment's.

    A person is taken at his word. An action that was given more points at a place than it had is worth at least as many
    there, one that was given fewer is worth no more than these, however often something else came of it. Where both was
    said of the same action at the same place, the mean of the two counts.
    """

    def __init__(self) -> None:
        self._raised: dict[Key, float] = {}
        self._lowered: dict[Key, float] = {}
        self._heeded = True

    def __contains__(self, key: Key) -> bool:
        return self._heeded and (key in self._raised or key in self._lowered)

    def __bool__(self) -> bool:
        return self._heeded and bool(self._raised or self._lowered)

    @contextlib.contextmanager
    def ignored(self) -> Iterator[None]:
        """Have it be in the block as if no person had said anything."""
        self._heeded = False
        try:
            yield
        finally:
            self._heeded = True

    def add(self, key: Key, points: float, given: float) -> None:
        """Take note that a step that had so many points was given others."""
        if given > points:
            self._raised[key] = max(given, self._raised.get(key, given))
        elif given < points:
            self._lowered[key] = min(given, self._lowered.get(key, given))

    def worth(self, key: Key, points: float) -> float:
        """Return the points of an action at a place; `points` is what it has without the edits."""
        said = []
        if key not in self:
            return points
        if key in self._raised:
            said.append(max(points, self._raised[key]))
        if key in self._lowered:
            said.append(min(points, self._lowered[key]))
        return sum(said) / len(said)


MOVE = "<move>"
"""The class of all actions that led from one place to another."""


class _Place:
    """What is known of one place.

    Attributes:
        exits: By move, where it led last.
        version: Grows with each step there.
    """

    def __init__(self, numbers: PlanNumbers, moves: Set[str]) -> None:
        self.views = PlaceViews(numbers)
        self.preconditions = Preconditions(numbers)
        self.makers = Makers(numbers, self.preconditions, moves)
        self.exits: dict[str, str] = {}
        self.version = 0


class WorldModel:
    """All that is known of a world. It grows step by step; nothing is ever computed anew from the start.

    Of each step `see` is called first, then `learn`. An action counts as tried at the next `see`, when it shows what
    can be done after it, or at once if it ended the episode or changed nothing.

    Attributes:
        yields: What first tries brought.
        scored: The most points that an action ever gained at a place.
        edits: What persons say of points.
        sources: By token of what was in hand, what brought it in hand.
        tried: How often an action was taken at a place, and it was seen what can be done after it.
        tried_so: How often an action was taken in exactly this situation.
        fatal: How often one died of an action.
        death_loss: Points of the score that dying cost, on average.
        ways_version: Grows whenever a move leads elsewhere than was known.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.places: dict[str, _Place] = {}
        self.effects = Effects(numbers)
        self.hazards = Hazards(numbers)
        self.yields = Yields(numbers)
        self.moves: set[str] = set()
        self.scored: dict[Key, float] = {}
        self._gains: dict[Key, float] = {}
        self.edits = Edits()
        self.sources: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self.tried: Counter[Key] = Counter()
        self.tried_so: Counter[tuple[Situation, str]] = Counter()
        self.fatal: Counter[Key] = Counter()
        self.death_loss = 0.0
        self.ways_version = 0
        self._taken: Counter[str] = Counter()
        """By action, at how many places it was taken."""
        self._unsettled: Key | None = None
        self._ended_on: set[Key] = set()
        """Actions that were the last of an episode, and it was not seen what can be done after them."""
        self._words: set[str] = set()
        self._met: set[str] = set()

    # ---------------------------------------------------------------------------------------- learning

    def begin_episode(self) -> None:
        """End the last episode. What could be done after its last step was not seen: it counts the second time."""
        if self._unsettled in self._ended_on:
            self._settle()
        elif self._unsettled is not None:
            self._ended_on.add(self._unsettled)
        self._unsettled = None

    def place(self, name: str) -> _Place:
        """Return what is known of a place."""
        if name not in self.places:
            self.places[name] = _Place(self._n, self.moves)
        return self.places[name]

    def arrive(self, now: Situation) -> None:
        """Learn what a place looks like when an episode first comes to it with this in hand."""
        self.place(now.place).views.add(now.have, now.see)

    def see(self, now: Situation, possible: tuple[str, ...]) -> bool:
        """Learn what is here and what can be done here; return whether an action is new here."""
        self._settle()
        place = self.place(now.place)
        place.version += 1
        self._met.add(now.place)
        self._words |= words_of(now.context)
        return place.preconditions.see(now.context, possible)

    def learn(
        self,
        now: Situation,
        action: str,
        reward: float,
        then: Situation,
        *,
        terminated: bool,
        died: bool,
        fresh: bool = True,
        given: float | None = None,
    ) -> None:
        """Learn from one step.

        Args:
            reward: The change of the game's score.
            given: The points that a person gave it instead, None if nobody did.
            terminated: The game ended the episode with it.
            died: The episode ended in death or another loss.
            fresh: Whether this action had earned no points at this place earlier in the episode.
        """
        place, key = self.place(now.place), (now.place, action)
        first = key not in self.effects
        did = self.effects.add(now, action, reward, then, terminated=terminated, died=died, fresh=fresh)
        if did.moved:
            self.moves.add(action)
        moving = action in self.moves and (did.moved or died)  # who ran into a wall has not left
        self.hazards.add(now, moving=moving, died=died)
        if died:
            self.death_loss += (max(0.0, -reward) - self.death_loss) / (self.fatal.total() + 1.0)
            self.fatal[key] += 1
        if first:
            self._learn_first(now, action, reward, then, did.moved)
        # What can be done now shows only in the next state: what an episode ended on at its limit may lead on.
        self._unsettled = key
        if terminated or then == now:
            self._settle()
        self.tried_so[(now, action)] += 1
        place.version += 1
        if did.moved:
            self.place(then.place)  # plans pass through it, whether or not it is ever seen
            self.ways_version += place.exits.get(action) != then.place
            place.exits[action] = then.place
        else:
            for token in did.have_added | did.see_added:
                place.makers.add(token, action, now.context)
        for token in sorted(did.have_added):  # the order of plans must not hang on that of sets
            self.sources[token][key] = None
        if given is not None:
            self.edits.add(key, reward, given)
        if reward > 0:
            self.scored[key] = max(reward, self.scored.get(key, 0.0))
        if reward > 0 or key in self.edits:
            self._gains.pop(key, None)
            if (most := self.edits.worth(key, self.scored.get(key, 0.0))) > 0.0:
                self._gains[key] = most

    def _learn_first(self, now: Situation, action: str, reward: float, then: Situation, moved: bool) -> None:
        """Learn what an action brought that was taken at a place for the first time."""
        news = 0.0
        if moved and then.place not in self._met:
            news = self._n.new_place
        elif not words_of(then.context) <= self._words:
            news = 1.0
        share, lost = 1.0 / self.staleness(action), bool(now.have - then.have)
        self.yields.add(self.kind(action), max(0.0, reward) + news, lost=lost, share=share)

    def _settle(self) -> None:
        """Count the last action as tried: what came of it was seen."""
        key, self._unsettled = self._unsettled, None
        if key is not None:
            self._taken[key[1]] += not self.tried[key]
            self.tried[key] += 1

    # --------------------------------------------------------------------------------------- predicting

    def kind(self, action: str) -> str:
        """Return the class an action is counted in: moves, or its verb."""
        return MOVE if action in self.moves else verb(action)

    def view(self, place: str, have: Tokens) -> Tokens:
        """Return what a place looked like to who came with the most similar things in hand."""
        known = self.places.get(place)
        return known.views.with_in_hand(have) if known is not None else EMPTY

    def exits(self, place: str) -> Iterable[tuple[str, str]]:
        """Return the moves known at a place and where each led last."""
        known = self.places.get(place)
        return known.exits.items() if known is not None else ()

    def chance(self, key: Key, context: Tokens) -> float:
        """Return how likely an action is possible where all that it is known to need is there, and a move leads on."""
        return self.places[key[0]].preconditions.chance(key[1], context) * self.effects.leads(key, context)

    def hazard(self, place: str, context: Tokens, action: str) -> float:
        """Return the share of deadly steps at a place in a context, of moves if the action is one, else of others."""
        return self.hazards.hazard(place, context, moving=action in self.moves)

    def outcome(self, key: Key, context: Tokens) -> ExpectedOutcome | None:
        """Return what an action is expected to do, None if it was never taken at the place."""
        return self.effects.outcome(key, context, self.hazard(key[0], context, key[1]))

    def death(self, key: Key, context: Tokens) -> float:
        """Return the probability of dying of an action in a context, whether or not it was ever taken at the place."""
        outcome = self.outcome(key, context)
        return outcome.death if outcome is not None else self.hazard(key[0], context, key[1])

    @property
    def gains(self) -> Mapping[Key, float]:
        """By place and action, the most points it ever gained, or what persons say it is worth; nothing below 0."""
        return self._gains if self.edits else self.scored

    def gain(self, key: Key) -> float:
        """Return the points expected of an action that earned none in this episode yet."""
        return self.edits.worth(key, self.effects.gain(key))

    def points(self, key: Key, reward: float) -> float:
        """Return the points that a step counts with: what persons say of it, else what the game gave."""
        return self.gain(key) if key in self.edits else reward

    def cost(self, key: Key) -> float:
        """Return the points that an action costs by what persons say of it: 0 or less."""
        return min(0.0, self.edits.worth(key, 0.0))

    def staleness(self, action: str) -> float:
        """Return how many times less an action promises at a place since it was taken at others.

        Things behave alike wherever they are; but "take all" is another thing elsewhere.
        """
        if action in self.moves or (" " in action and not objects(action)):
            return 1.0
        return 1.0 + self._taken.get(action, 0)

    def novelty(self, key: Key, curiosity: float, liked: Mapping[str, float]) -> float:
        """Return what taking an action at a place promises to discover, in points.

        Args:
            curiosity: Factor on what discoveries are worth.
            liked: By action, a factor from a model's opinion; 1 if absent.
        """
        return self.undiscovered(key, self.promise(key[1], curiosity) * liked.get(key[1], 1.0))

    def promise(self, action: str, curiosity: float) -> float:
        """Return what an action promises to discover, in points, at a place where it was never taken."""
        return self.yields.rate(self.kind(action)) * curiosity / self.staleness(action)

    def undiscovered(self, key: Key, promise: float) -> float:
        """Return what is left of an action's promise after the times that it was taken at a place."""
        if key not in self.effects:
            return promise
        promise *= 1.0 - self.effects.ending(key)  # nothing is discovered after the end
        # What was deadly led nowhere: what comes of it else is as unknown as before.
        survived = self.tried.get(key, 0) - self.fatal.get(key, 0)
        if survived == 0:
            return promise
        return promise * self._n.again / (survived**2 if key[1] in self.moves else survived)

    def darkening(self, have: Tokens, action: str) -> float:
        """Return the probability of dying of what an action does to the light in hand."""
        concerned = any(concerns(action, token) for token in self.hazards.light & have)
        return self._n.unmet * self.loss_rate(action) if concerned else 0.0

    def loss_rate(self, action: str) -> float:
        """Return how often an action of this class, tried for the first time, cost something carried."""
        return self.yields.loss_rate(self.kind(action))
