"""The model of a world: what all remembered steps together say of places, moves, actions and dangers.

Every step is a transition (s, a, r, s'). From all of them is learnt, without any knowledge of a particular game:

* what an action needs (`engine.values.preconditions`) and what it does (`engine.values.effects`);
* where moves lead, and what places look like;
* where points were gained;
* where one dies, and what lifts that danger (`engine.values.hazards`);
* what trying something new brings (`engine.values.novelty`).

`Model.step` learns one step. It is the same for steps that are remembered and for those of the running episode.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.records import State
from engine.settings.planning import PlanNumbers
from engine.values.effects import Effects, Key, Outcome, Views
from engine.values.hazards import Hazards
from engine.values.memo import Likeness, Memo
from engine.values.novelty import Bringing, Vain, Yields
from engine.values.preconditions import Makers, Preconditions
from engine.values.text import Reader, Situation, Tokens, concerns, objects, union, words_of

MOVE = "<move>"
"""The class of all actions that led from one place to another."""
_NONE: Tokens = frozenset()


@dataclass(slots=True)
class _Place:
    """What is known of one place.

    Attributes:
        version: Grows whenever something may be expected of its actions that was not expected before.
    """

    views: Views
    possible: Preconditions
    makers: Makers
    exits: dict[str, str]
    """By move, where it led last."""
    version: int = 0


class Model:
    """All that is known of a world. It grows step by step; nothing is ever computed anew from the start."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        likeness = Likeness()
        self._likeness = likeness
        self.places: dict[str, _Place] = {}
        self.effects = Effects(numbers, likeness)
        self.hazards = Hazards(numbers)
        self.yields = Yields(numbers)
        """What first tries brought."""
        self.vain = Vain(numbers)
        """What was done and showed nothing."""
        self.bringing = Bringing(numbers)
        """What came of bringing things to places."""
        self.moves: set[str] = set()
        self.reader = Reader(self.bringing.names, self.moves)
        self.gains: dict[Key, float] = {}
        """The most points that an action ever gained at a place."""
        self.sources: dict[str, dict[Key, None]] = {}
        """By token of what was in hand, what brought it in hand."""
        self.tried: Counter[Key] = Counter()
        """How often an action was taken at a place, and it was seen what can be done after it."""
        self.tried_so: Counter[tuple[Situation, str]] = Counter()
        """How often an action was taken in exactly this situation."""
        self.fatal: Counter[Key] = Counter()
        """How often one died of an action."""
        self.missed: Counter[Key] = Counter()
        """How often an action was not possible where memory had it."""
        self.death_loss = 0.0
        """Points of the score that dying cost, on average."""
        self.ways_version = 0
        """Grows whenever a move leads elsewhere than was known, or more may go wrong on one."""
        self.handlings = 0
        """Grows with each action done to what lifts a danger."""
        self._taken: Counter[str] = Counter()
        self._deaths = 0
        self._unsettled: Key | None = None
        self._words: set[str] = set()
        self._met: set[str] = set()
        self._handled: dict[tuple[str, str], list[int]] = {}
        """By verb and thing in hand, how often the verb was used on it, and how often it was not in hand after."""
        self._destinations: dict[Key, str | None] = {}
        self._free: Memo[tuple[str, int], tuple[tuple[str, str], ...]] = Memo()

    # ---------------------------------------------------------------------------------------- learning

    def begin_episode(self) -> None:
        """Forget what the last episode ended on: what could have been done after it was not seen."""
        self._unsettled = None

    def read(self, state: State, possible: tuple[str, ...] = ()) -> Situation:
        """Take a state apart."""
        return self.reader.read(state, possible)

    def place(self, name: str) -> _Place:
        """Return what is known of a place."""
        found = self.places.get(name)
        if found is None:
            possible = Preconditions(self._n)
            views, makers = Views(self._n, self._likeness), Makers(self._n, possible, self.moves)
            found = self.places[name] = _Place(views, possible, makers, {})
        return found

    def arrive(self, now: Situation) -> None:
        """Learn what a place looks like when an episode first comes to it with this in hand."""
        self.place(now.place).views.add(now.have, now.see)

    def see(self, now: Situation, possible: tuple[str, ...]) -> bool:
        """Learn what is here and what can be done here; return whether an action is new here."""
        self._settle()
        place, context = self.place(now.place), union(now.have, now.see)
        new = not words_of(now.see) <= self._words
        self.bringing.see(now.place, now.have, possible, known=now.place in self._met, new=new, see=now.see)
        told = place.possible.see(context, possible)
        place.version += told.otherwise
        if told.new:
            self._met.add(now.place)
            self._words |= words_of(context)
        return told.action

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
    ) -> None:
        """Learn from one step.

        Args:
            reward: The change of the game's score.
            terminated: The game ended the episode with it.
            died: The episode ended in death or another loss.
            fresh: Whether it had gained nothing at this place in the same episode before.
        """
        key, moved = (now.place, action), then.place != now.place and not terminated
        if moved:
            self.moves.add(action)
        place, first, settled = self.place(now.place), key not in self.effects, self.effects.is_settled(key)
        moving = action in self.moves and (moved or died)  # who ran into a wall has not left
        self.hazards.add(now, moving=moving, died=died, first=first)
        if died:
            self._learn_death(key, reward)
        if first:
            self._learn_first(now, action, reward, then, moved)
        self._learn_handling(now, action, then)
        showed = moved or then.have != now.have or then.see != now.see or terminated or reward > 0
        self.vain.add(self.kind(action), key, showed=showed, died=died)
        # What can be done now shows only in the next state: what an episode ended on at its limit may lead on.
        self._unsettled = key
        if terminated or then == now:
            self._settle()
        self.tried_so[(now, action)] += 1
        self.effects.add(now, action, reward, then, terminated=terminated, died=died, fresh=fresh)
        place.version += not (settled and self.effects.is_settled(key))
        if moved:
            self.place(then.place)  # plans pass through it, whether or not it is ever seen
            self.ways_version += place.exits.get(action) != then.place
            place.exits[action] = then.place
        else:
            if then.have == now.have and reward <= 0 and not terminated:
                self.bringing.open(now, action, then)
            for token in (then.have - now.have) | (then.see - now.see):
                place.makers.add(token, action, union(now.have, now.see))
        for token in sorted(then.have - now.have):  # the order of plans must not hang on that of sets
            self.sources.setdefault(token, {})[key] = None
        led = then.place if moved else None
        self._destinations[key] = led if self._destinations.get(key, led) == led else None
        if reward > 0:
            self.gains[key] = max(reward, self.gains.get(key, 0.0))

    def _learn_death(self, key: Key, reward: float) -> None:
        self.death_loss += (max(0.0, -reward) - self.death_loss) / (self._deaths + 1.0)
        self._deaths += 1
        self.fatal[key] += 1
        self.ways_version += 1

    def _learn_first(self, now: Situation, action: str, reward: float, then: Situation, moved: bool) -> None:
        """Learn what an action brought that was taken at a place for the first time."""
        news = 0.0
        if moved and then.place not in self._met:
            news = self._n.new_place
        elif not words_of(then.have | then.see) <= self._words:
            news = self._n.new_thing
        share, lost = 1.0 / self.staleness(action), bool(now.have - then.have)
        self.yields.add(self.kind(action), max(0.0, reward) + news, lost=lost, share=share)

    def _learn_handling(self, now: Situation, action: str, then: Situation) -> None:
        """Learn what an action did to the things in hand that it was done to."""
        for token in now.have:
            if concerns(action, token):
                counts = self._handled.setdefault((_verb(action), token), [0, 0])
                counts[0] += 1
                counts[1] += token not in then.have
                self.handlings += token in self.hazards.light

    def _settle(self) -> None:
        """Count the last action as tried: what came of it was seen."""
        key, self._unsettled = self._unsettled, None
        if key is not None:
            self._taken[key[1]] += not self.tried[key]
            self.tried[key] += 1
            self.place(key[0]).version += not self.effects.is_settled(key)

    def miss(self, key: Key) -> None:
        """Count that an action was not possible where memory had it."""
        self.missed[key] += 1
        self.place(key[0]).version += 1
        self.ways_version += key[1] in self.moves

    # --------------------------------------------------------------------------------------- predicting

    def kind(self, action: str) -> str:
        """Return the class an action is counted in: moves, or its verb."""
        return MOVE if action in self.moves else _verb(action)

    def view(self, place: str, have: Tokens) -> Tokens:
        """Return what a place looked like to who came with the most similar things in hand, or as much in the dark."""
        known = self.places.get(place)
        return known.views.with_in_hand(have, self.hazards.light) if known is not None else _NONE

    def relit(self, place: str, have: Tokens, seen: Tokens) -> Tokens:
        """Return what a place looks like that was seen, if it is dark now and was not then, or the other way round."""
        light, is_lifted = self.hazards.light, self.hazards.is_lifted
        dark = light.isdisjoint(have)
        if not light or is_lifted(seen) == dark:
            return seen
        expected = self.view(place, have)
        return expected if is_lifted(expected) == dark else seen

    def exits(self, place: str) -> Iterable[tuple[str, str]]:
        """Return the moves known at a place and where each led last."""
        known = self.places.get(place)
        return known.exits.items() if known is not None else ()

    def ways_out(self, place: str) -> tuple[tuple[str, str], ...]:
        """Return the moves known at a place, each with where it leads if it always does and needs nothing, else ""."""
        known = self.places[place]
        exits = known.exits
        return self._free.find(
            None, (place, known.version), lambda: tuple((action, self._leads(place, action)) for action in exits)
        )

    def _leads(self, place: str, action: str) -> str:
        always = self.effects.always((place, action))
        if always is None or not always.moved:
            return ""
        return always.place if self.places[place].possible.is_free(action) else ""

    def destination(self, key: Key) -> str | None:
        """Return where the action led whenever it was taken at the place, None if it varied."""
        return self._destinations.get(key)

    def hazard(self, place: str, context: Tokens, action: str, *, first: bool = False) -> float:
        """Return the share of deadly steps at a place in a context, of moves if the action is one, else of others."""
        return self.hazards.hazard(place, context, moving=action in self.moves, first=first)

    def outcome(self, key: Key, context: Tokens) -> Outcome | None:
        """Return what the action is expected to do, None if it was never taken at the place."""
        if key not in self.effects:
            return None
        return self.effects.outcome(key, context, self.hazard(key[0], context, key[1]))

    def death(self, key: Key, context: Tokens) -> float:
        """Return the probability of dying of an action in a context, whether or not it was ever taken at the place."""
        outcome = self.outcome(key, context)
        return outcome.death if outcome is not None else self.hazard(key[0], context, key[1], first=True)

    def gain(self, key: Key, context: Tokens) -> float:
        """Return the points expected of an action that gained nothing in this episode yet."""
        return self.effects.gain(key, context)

    def sureness(self, key: Key) -> float:
        """Return how often an action was possible where memory had it."""
        return (self.tried[key] + 1.0) / (self.tried[key] + self.missed[key] + 1.0)

    def loses(self, action: str, things: Tokens) -> float:
        """Return the probability that an action costs one of these things, by what it did to them elsewhere.

        A lamp that broke when it was thrown at a wall will hardly outlive being thrown at a tree.
        """
        worst = 0.0
        for token in things:
            if concerns(action, token):
                times, lost = self._handled.get((_verb(action), token), (0, 0))
                worst = max(worst, (lost + self.loss_rate(action)) / (times + 1.0))
        return worst

    def staleness(self, action: str) -> float:
        """Return how many times less an action promises at a place since it was taken at others.

        Things behave alike wherever they are; but "take all" is another thing elsewhere.
        """
        if action in self.moves or (" " in action and not objects(action)):
            return 1.0
        return 1.0 + self._taken[action]

    def loss_rate(self, action: str) -> float:
        """Return how often an action of this class, tried for the first time, cost something carried."""
        return self.yields.loss_rate(self.kind(action))

    def discovery_rate(self, action: str) -> float:
        """Return what trying an action of this class for the first time at a place yields, in points."""
        return self.yields.rate(self.kind(action))


@functools.lru_cache(maxsize=1 << 14)
def _verb(action: str) -> str:
    return action.split(" ", 1)[0]
