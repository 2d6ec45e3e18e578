"""What remembered steps say about a world: places, moves, what actions need and what they do.

A state is read as a place, what is carried (`have:` tokens) and what is seen there (all others). Every
remembered step is a transition (s, a, r, s'), and from all of them together is learnt, without any
knowledge of a particular game:

* what an action needs, read from when it was possible at this place (`engine.values.conditions`);
* what it does: the tokens it added and removed, taken from the most similar occasion;
* where moves lead, what was gained where, and where one dies.

Effects are changes of tokens, so what was learnt in one state applies to states never seen: this is how
the first half of one episode is joined with the second half of another.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.records import State
from engine.values.bringing import Bringing
from engine.values.conditions import Conditions, Tokens, concerns, name_in, objects, union, words_of
from engine.values.hazards import Hazards
from engine.values.likeness import Likeness
from engine.values.makers import Makers
from engine.values.reading import Reader
from engine.values.situations import Occasion, Outcome, Situation
from engine.values.vain import Vain
from engine.values.views import Views
from engine.values.yields import Yields

Key = tuple[str, str]
"""A place and an action."""

MOVE = "<move>"
"""The class of all actions that led from one place to another."""
_NONE: Tokens = frozenset()
_OCCASIONS = 24
"""Latest occasions of an action that are compared with the present one."""
_KEPT = 1 << 9
"""Contexts for which it is kept what comes of an action."""
_NEAR = 0.05
"""Occasions less similar than the best by more than this are another situation."""


@dataclass(slots=True)
class _Place:
    """What is known of one place."""

    views: Views
    possible: Conditions
    makers: Makers
    version: int = 0


class Experience:
    """All of it. Grows step by step; nothing is ever computed anew from the start.

    Args:
        new_place: What discovering a place is worth, in points of the game.
        new_thing: What discovering anything else new is worth.
        recency: Weight of an occasion relative to the next later one, within (0, 1].
    """

    def __init__(self, *, new_place: float = 4.0, new_thing: float = 1.0, recency: float = 0.75) -> None:
        self._likeness = Likeness()
        self.places: dict[str, _Place] = {}
        self.gains: dict[Key, float] = {}
        self.tried: Counter[Key] = Counter()
        self.taken: Counter[str] = Counter()
        self.moves: set[str] = set()
        self.moves_version = 0
        """Grows whenever a move leads elsewhere than was known."""
        self.perils_version = 0
        """Grows whenever more may go wrong on ways than was known."""
        self.death_loss = 0.0
        """Points of the game's score that dying cost, on average."""
        self.deaths = 0
        self._words: set[str] = set()
        self.vain = Vain()
        self.tried_so: Counter[tuple[Situation, str]] = Counter()
        """How often an action was taken in exactly this situation."""
        self.fatal: Counter[Key] = Counter()
        """How often one died of an action."""
        self.missed: Counter[Key] = Counter()
        """How often an action was not possible where memory had it."""
        self.misses = 0
        self.dangers = Hazards()
        """How dangerous places are."""
        self._exits: dict[str, dict[str, str]] = {}
        self._ways_out: dict[str, tuple[int, tuple[tuple[str, str], ...]]] = {}
        self._unsettled: Key | None = None
        self.handlings = 0
        """How often what lifts a danger was lost by what was done to it."""
        self._handled: dict[tuple[str, str], tuple[int, int]] = {}
        """By verb and thing in hand, how often the verb was used on it, and how often it was not in hand after."""
        self.sources: dict[str, dict[Key, None]] = {}
        self._occasions: dict[Key, list[Occasion]] = {}
        self._steady: dict[Key, Outcome] = {}
        self._alike: Counter[Key] = Counter()
        """How many of the last occasions of an action the same came of."""
        self._tokens: set[str] = set()
        self.bringing = Bringing()
        """What came of bringing things to places."""
        self.reader = Reader(self.bringing, self.moves)
        self.yields = Yields()
        """What first tries brought."""
        self._destinations: dict[Key, str | None] = {}
        self._outcomes: dict[Key, tuple[object, dict[Tokens, Outcome]]] = {}
        self._expected: dict[Key, tuple[int, dict[Tokens, float]]] = {}
        self._new_place, self._new_thing, self._recency = new_place, new_thing, recency
        self._weights = [recency**age for age in range(_OCCASIONS - 1, -1, -1)]

    # ---------------------------------------------------------------------------------------- learning

    def see(self, now: Situation, possible: tuple[str, ...]) -> bool:
        """Learn what is here and what can be done here; return whether an action is new here."""
        self._settle()
        place = self.place(now.place)
        known, new = now.place in self._tokens, not words_of(now.see) <= self._words
        self.bringing.see(now.place, now.have, possible, known=known, new=new, see=now.see)
        told = place.possible.see(union(now.have, now.see), possible)
        place.version += told.otherwise
        if told.new:
            self._tokens.add(now.place)
            self._words |= words_of(union(now.have, now.see))
        return told.action

    def read(self, state: State, possible: tuple[str, ...] = ()) -> Situation:
        """Take a state apart; see `Reader.read`."""
        return self.reader.read(state, possible)

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
        """
        moved = then.place != now.place and not terminated
        if moved:
            self.moves.add(action)
        place, key = self.place(now.place), (now.place, action)
        moving = self.kind(action) == MOVE and (moved or died)  # who ran into a wall has not left
        self.dangers.add(now, moving=moving, died=died, first=key not in self._occasions)
        if died:
            self.death_loss += (max(0.0, -reward) - self.death_loss) / (self.deaths + 1.0)
            self.deaths += 1
            self.perils_version += 1
        if key not in self._occasions:
            kind = self.kind(action)
            found = moved and then.place not in self._tokens
            thing = not words_of(then.have | then.see) <= self._words
            news = self._new_place if found else self._new_thing if thing else 0.0
            share = 1.0 / self.staleness(action)
            self.yields.add(kind, max(0.0, reward) + news, lost=bool(now.have - then.have), share=share)
        verb = action.split(" ", 1)[0]
        for token in now.have:
            if concerns(action, token):
                times, lost = self._handled.get((verb, token), (0, 0))
                self._handled[(verb, token)] = (times + 1, lost + (token not in then.have))
                self.handlings += token not in then.have and token in self.dangers.light
        changed = moved or then.have != now.have or then.see != now.see
        self.vain.add(self.kind(action), key, showed=changed or terminated or reward > 0, died=died)
        settled = self._is_settled(key)
        # What can be done now shows only in the next state: what an episode ended on at its limit may lead on.
        self._unsettled = key
        if terminated or then == now:
            self._settle()
        self.tried_so[(now, action)] += 1
        if died:
            self.fatal[key] += 1
        context = union(now.have, now.see)
        self._remember(
            key,
            Occasion(
                context=context,
                number=self._likeness.number(context),
                place=then.place,
                gained=then.have - now.have,
                lost=now.have - then.have,
                appeared=_NONE if moved else then.see - now.see,
                vanished=_NONE if moved else now.see - then.see,
                moved=moved,
                died=died,
                terminated=terminated,
                did_something=changed,
                reward=reward,
                fresh=fresh,
            ),
        )
        if not settled or not self._is_settled(key):
            place.version += 1
        if moved and self._exits.setdefault(now.place, {}).get(action) != then.place:
            self.place(then.place)  # plans pass through it, whether or not it is ever seen
            self._exits[now.place][action] = then.place
            self.moves_version += 1
        if not moved:
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

    def _remember(self, key: Key, occasion: Occasion) -> None:
        """Keep an occasion, and note whether the same comes of the action whenever it is taken."""
        occasions = self._occasions.setdefault(key, [])
        alike = self._alike[key] + 1 if occasions and occasions[-1].did_as(occasion) else 1
        occasions.append(occasion)
        self._alike[key] = alike
        if alike >= min(len(occasions), _OCCASIONS) and not occasion.terminated:
            self._steady[key] = Outcome(occasion, 1.0, 0.0)
        else:
            self._steady.pop(key, None)

    def _settle(self) -> None:
        """Count the last action as tried: what came of it was seen."""
        key, self._unsettled = self._unsettled, None
        if key is not None:
            if not self.tried[key]:
                self.taken[key[1]] += 1
            self.tried[key] += 1
            self.place(key[0]).version += not self._is_settled(key)

    def _is_settled(self, key: Key) -> bool:
        """Return whether so often the same came of an action that once more would tell nothing."""
        return key in self._steady and self._alike[key] >= _OCCASIONS

    def begin_episode(self) -> None:
        """Forget what the last episode ended on: what could have been done after it was not seen."""
        self._unsettled = None

    def miss(self, key: Key) -> None:
        """Count that an action was not possible where memory had it."""
        self.missed[key] += 1
        self.misses += 1
        self.place(key[0]).version += 1
        self.perils_version += key[1] in self.moves

    def arrive(self, now: Situation) -> None:
        """Learn what a place looks like when an episode first comes to it with this in hand."""
        self.place(now.place).views.add(now.have, now.see)

    def view(self, place: str, have: Tokens) -> Tokens:
        """Return what a place looked like to who came with the most similar things in hand, or as much in the dark."""
        known = self.places.get(place)
        return known.views.with_in_hand(have, self.dangers.light) if known is not None else _NONE

    def relit(self, place: str, have: Tokens, seen: Tokens) -> Tokens:
        """Return what a place looks like that was seen, if it is dark now and was not then, or the other way round."""
        light = self.dangers.light
        if not light:
            return seen
        dark, hazards = light.isdisjoint(have), self.dangers
        if hazards.is_lifted(seen) == dark:
            return seen
        expected = self.view(place, have)
        return expected if hazards.is_lifted(expected) == dark else seen

    def place(self, name: str) -> _Place:
        """Return what is known of a place."""
        found = self.places.get(name)
        if found is None:
            possible = Conditions()
            found = self.places[name] = _Place(Views(self._likeness), possible, Makers(possible, self.moves))
        return found

    # --------------------------------------------------------------------------------------- predicting

    def kind(self, action: str) -> str:
        """Return the class an action is counted in: moves, or its verb."""
        return MOVE if action == MOVE or action in self.moves else action.split(" ", 1)[0]

    def missing(self, key: Key, context: Tokens) -> Tokens:
        """Return the tokens that have to be added to a context to make the action possible at the place."""
        return self.places[key[0]].possible.missing(key[1], context)

    def helpers(self, place: str, needed: Tokens, context: Tokens, rounds: int) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear at the place within so many rounds."""
        return self.places[place].makers.helpers(needed, context, rounds)

    def exits(self, place: str) -> Iterable[tuple[str, str]]:
        """Return the moves known at a place and where each led last."""
        return self._exits.get(place, {}).items()

    def ways_out(self, place: str) -> tuple[tuple[str, str], ...]:
        """Return the moves known at a place, each with where it leads if it always does and needs nothing, else ""."""
        version = self.places[place].version
        known = self._ways_out.get(place)
        if known is None or known[0] != version:
            found = tuple((action, self._free(place, action)) for action in self._exits.get(place, ()))
            known = self._ways_out[place] = (version, found)
        return known[1]

    def _free(self, place: str, action: str) -> str:
        steady = self._steady.get((place, action))
        if steady is None or not steady.occasion.moved:
            return ""
        return steady.occasion.place if self.places[place].possible.is_free(action) else ""

    def loses(self, action: str, things: Tokens) -> float:
        """Return the probability that an action costs one of these things, by what it did to them elsewhere.

        A lamp that broke when it was thrown at a wall will hardly outlive being thrown at a tree.
        """
        verb, worst = action.split(" ", 1)[0], 0.0
        for token in things:
            if concerns(action, token):
                times, lost = self._handled.get((verb, token), (0, 0))
                worst = max(worst, (lost + self.loss_rate(action)) / (times + 1.0))
        return worst

    def staleness(self, action: str) -> float:
        """Return how many times less an action promises at a place since it was taken at others.

        Things behave alike wherever they are; but "take all" is another thing elsewhere.
        """
        if action in self.moves or (" " in action and not objects(action)):
            return 1.0
        return 1.0 + self.taken[action]

    def loss_rate(self, action: str) -> float:
        """Return how often an action of this class, tried for the first time, cost something carried."""
        return self.yields.loss_rate(self.kind(action))

    def destination(self, key: Key) -> str | None:
        """Return where the action led whenever it was taken at the place, None if it varied."""
        return self._destinations.get(key)

    def outcome(self, key: Key, context: Tokens) -> Outcome | None:
        """Return what the action is expected to do, None if it was never taken at the place.

        Late occasions count more, and the risk of dying is shrunk towards the place's: one lucky escape
        from a deadly place proves little.
        """
        occasions = self._occasions.get(key)
        if not occasions:
            return None
        steady = self._steady.get(key)
        if steady is not None:  # whatever the context: the same came of it each time
            hazard = self.dangers.hazard(key[0], context, moving=key[1] in self.moves)
            return steady if not hazard else Outcome(steady.occasion, 1.0, hazard * self.escape(key))
        # Plans ask for the same few contexts thousands of times between two occasions.
        version = (len(occasions), len(self.moves), self.dangers.version)
        known = self._outcomes.get(key)
        if known is None or known[0] != version or len(known[1]) > _KEPT:
            known = self._outcomes[key] = (version, {})
        outcome = known[1].get(context)
        if outcome is None:
            outcome = known[1][context] = self._expect(key, occasions, context)
        return outcome

    def death(self, key: Key, context: Tokens) -> float:
        """Return the probability of dying of an action in a context, whether or not it was ever taken at the place."""
        known = key in self._occasions
        hazard = self.dangers.hazard(key[0], context, moving=key[1] in self.moves, first=not known)
        if known and (hazard or key in self.fatal):
            outcome = self.outcome(key, context)
            return outcome.death if outcome is not None else hazard
        return hazard

    def escape(self, key: Key) -> float:
        """Return what share of a place's danger an action has that nobody died of on its latest occasions."""
        times = min(len(self._occasions[key]), _OCCASIONS)
        return 1.0 / (1.0 + (1.0 - self._recency**times) / (1.0 - self._recency))

    def similarity(self, key: Key, context: Tokens) -> float:
        """Return how similar to a context the most similar one is that the action was taken in, 0 to 1."""
        occasions = self._occasions.get(key, ())
        return max(self._similar(occasions[-_OCCASIONS:], context), default=0.0)

    def _similar(self, occasions: Sequence[Occasion], context: Tokens) -> list[float]:
        """Return how similar the contexts of occasions are to this one, each 0 to 1."""
        return self._likeness.jaccard(context, [occasion.number for occasion in occasions])

    def _near(self, occasions: list[Occasion], context: Tokens) -> tuple[list[Occasion], list[float]]:
        """Return the latest occasions most similar to a context, and their weights."""
        latest = occasions[-_OCCASIONS:]
        similar = self._similar(latest, context)
        best = max(similar, default=0.0)
        near = [o for o, s in zip(latest, similar, strict=True) if s > best - _NEAR]
        return near, self._weights[_OCCASIONS - len(near) :]

    def _expect(self, key: Key, occasions: list[Occasion], context: Tokens) -> Outcome:
        near, weights = self._near(occasions, context)
        total = sum(weights)
        death = sum(w for o, w in zip(near, weights, strict=True) if o.died) if key in self.fatal else 0.0
        effective = [o for o in near if o.did_something and not o.terminated]
        success = 1.0
        if effective and len(effective) < len(near):
            idle = sum(
                w for o, w in zip(near, weights, strict=True) if not o.did_something and not o.terminated
            )
            success = max(0.05, 1.0 - idle / total)
        lasting = effective or [o for o in near if not o.terminated] or near
        return Outcome(
            lasting[-1],
            success,
            (death + self.dangers.hazard(key[0], context, moving=key[1] in self.moves)) / (total + 1.0),
        )

    def gain(self, key: Key, context: Tokens) -> float:
        """Return the points expected of an action that ever gained any, if none were gained by it in this episode."""
        version = len(self._occasions.get(key, ()))
        known = self._expected.get(key)
        if known is None or known[0] != version or len(known[1]) > _KEPT:
            known = self._expected[key] = (version, {})
        found = known[1].get(context)
        if found is None:
            latest = (o for o in reversed(self._occasions.get(key, ())) if o.fresh)
            near, weights = self._near([*itertools.islice(latest, _OCCASIONS)][::-1], context)
            total = sum(weights)
            points = sum(w * max(0.0, o.reward) for o, w in zip(near, weights, strict=True))
            found = known[1][context] = points / total if total else 0.0
        return found

    def risk(self, at: Situation, action: str) -> float:
        """Return the probability of dying of an action in a situation."""
        context = union(at.have, at.see)
        outcome = self.outcome((at.place, action), context)
        hazard = self.dangers.hazard(at.place, context, moving=action in self.moves, first=outcome is None)
        return max(hazard, outcome.death) if outcome is not None else hazard

    def sureness(self, key: Key) -> float:
        """Return how often an action was possible where memory had it."""
        return (self.tried[key] + 1.0) / (self.tried[key] + self.missed[key] + 1.0)

    def died_alike(self, key: Key, context: Tokens) -> int:
        """Return how often one died of an action while the place went by the name it has in this context."""
        name = name_in(context)
        return sum(o.died and name_in(o.context) == name for o in self._occasions.get(key, ())[-_OCCASIONS:])

    def discovery_rate(self, action: str) -> float:
        """Return what trying an action of this class for the first time at a place yields, in points."""
        return self.yields.rate(self.kind(action))
