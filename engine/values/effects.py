"""What actions do and what places look like: remembered occasions, and what they let one expect.

An effect is a change of tokens: what came in hand, was lost from it, appeared and vanished; or the place that a move
led to. It is taken from the latest occasion on which the action did anything. So what was learnt in one situation
applies to situations never met, and that is how the first half of one episode is joined with the second half of
another. If a place goes by another name at times (the dark), only occasions under its present name count, if there are
any.

A move may lead back to where it began: one falls in the dark, dies, and wakes up at the same place. Then it needs what
was always there when it led on, and never when it led back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from engine.settings.plan import PlanNumbers
from engine.values.counts import Memo, jaccard, rate
from engine.values.text import EMPTY, Key, Situation, Tokens, kept_once, name_in


class ActionResult(NamedTuple):
    """One time an action was taken: in what context, and what it did there.

    Attributes:
        alias: The name that the place went by, "" if it has no other.
        have_added: What came in hand.
        have_removed: What was in hand and is not any more.
        see_added: What appeared at the place, nothing after a move.
        see_removed: What vanished from the place, nothing after a move.
        fresh: Whether the action had earned no points at this place earlier in the episode.
    """

    context: Tokens
    alias: str
    place: str
    have_added: Tokens
    have_removed: Tokens
    see_added: Tokens
    see_removed: Tokens
    moved: bool
    died: bool
    terminated: bool
    reward: float
    fresh: bool

    @property
    def ended(self) -> bool:
        """Whether the game ended the episode with it otherwise than by a death."""
        return self.terminated and not self.died

    @property
    def did_something(self) -> bool:
        """Whether anything changed that tokens show."""
        return bool(self.moved or self.have_added or self.have_removed or self.see_added or self.see_removed)


class ExpectedOutcome(NamedTuple):
    """What an action is expected to do.

    Attributes:
        occasion: The latest occasion on which it did something.
        success: Probability that it does that, rather than nothing.
        death: Probability of dying of it.
    """

    occasion: ActionResult
    success: float
    death: float


class _Usual(NamedTuple):
    """What the latest occasions of an action under one alias come to; fields as in `ExpectedOutcome`."""

    occasion: ActionResult
    success: float
    deaths: int
    tries: int


class _Leading(NamedTuple):
    """When a move leads on that led back at times.

    Attributes:
        need: What was always there when it led on, and never in a situation in which it did not.
        shares: By situation, on what share of the occasions on which it did anything it led on.
    """

    need: Tokens
    shares: Mapping[Tokens, float]


class Effects:
    """The latest occasions of all actions."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._occasions: dict[Key, deque[ActionResult]] = {}
        # Plans ask the same many times between two occasions.
        self._usual: dict[Key, dict[tuple[str, bool | None], _Usual]] = {}
        self._leading: dict[Key, _Leading | None] = {}
        self._gains: dict[Key, float] = {}
        self._endings: dict[Key, float] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._occasions

    def add(
        self, now: Situation, action: str, reward: float, then: Situation, *, terminated: bool, died: bool, fresh: bool
    ) -> ActionResult:
        """Learn from a step; return it as an occasion."""
        moved = then.place != now.place and not terminated
        occasion = ActionResult(
            context=now.context,
            alias=name_in(now.see),
            place=then.place,
            have_added=kept_once(then.have - now.have),
            have_removed=kept_once(now.have - then.have),
            see_added=EMPTY if moved else kept_once(then.see - now.see),
            see_removed=EMPTY if moved else kept_once(now.see - then.see),
            moved=moved,
            died=died,
            terminated=terminated,
            reward=reward,
            fresh=fresh,
        )
        key = (now.place, action)
        self._occasions.setdefault(key, deque(maxlen=self._n.kept)).append(occasion)
        self._usual.pop(key, None)
        self._leading.pop(key, None)
        self._gains.pop(key, None)
        self._endings.pop(key, None)
        return occasion

    def outcome(self, key: Key, context: Tokens, hazard: float) -> ExpectedOutcome | None:
        """Return what an action is expected to do, None if it was never taken at the place.

        The risk of dying is shrunk towards the place's: one lucky escape from a deadly place proves little.

        Args:
            hazard: Share of deadly steps at the place in this context.
        """
        if key not in self._occasions:
            return None
        moves = self.leads(key, context) > 0.0 if self._led(key) is not None else None
        case, known = (name_in(context), moves), self._usual.setdefault(key, {})
        if case not in known:
            known[case] = self._usually(key, *case)
        usual = known[case]
        return ExpectedOutcome(usual.occasion, usual.success, (usual.deaths + hazard) / (usual.tries + 1.0))

    def _usually(self, key: Key, alias: str, moves: bool | None) -> _Usual:
        """Return what the latest occasions come to where the place goes by this alias, of all if it never did.

        Args:
            moves: Whether the action is expected to lead on, None if it always did, or never.
        """
        known = self._occasions[key]
        latest = [o for o in known if o.alias == alias] or known
        if moves is not None:
            latest = [o for o in latest if (self.leads(key, o.context) > 0.0) is moves or o.terminated] or latest
        effective = [o for o in latest if o.did_something and not o.terminated and moves in (None, o.moved)]
        success = 1.0
        if effective:
            idle = sum(not (o.did_something or o.terminated) for o in latest)
            success = max(self._n.unlikely, 1.0 - idle / len(latest))
        lasting = effective or [o for o in latest if not o.terminated] or latest
        return _Usual(lasting[-1], success, sum(o.died for o in latest), len(latest))

    def lacks(self, key: Key, context: Tokens) -> Tokens:
        """Return the tokens that have to be added to a context so that a move leads on; none if that is not known."""
        led = self._led(key)
        return EMPTY if led is None or led.shares.get(context) else led.need - context

    def leads(self, key: Key, context: Tokens) -> float:
        """Return how likely an action leads on in a context, if it led on at times and back at others; else 1."""
        led = self._led(key)
        if led is None:
            return 1.0
        if context in led.shares or not led.need <= context:
            return led.shares.get(context, 0.0)
        had = [share for seen, share in led.shares.items() if led.need <= seen]
        return rate(sum(had), len(had), 1.0, self._n.possible)

    def _led(self, key: Key) -> _Leading | None:
        """Return when an action leads on, None if it always did, or never."""
        if key not in self._leading:
            shares: dict[Tokens, float] = {}
            known = [o for o in self._occasions.get(key, ()) if not o.terminated]
            for context in {o.context: None for o in known}:
                there = [o for o in known if o.context == context]
                on, back = (sum(o.did_something and o.moved is moved for o in there) for moved in (True, False))
                shares[context] = on / max(1, on + back)
            led = [context for context, share in shares.items() if share]
            mixed = led and min(shares.values()) < 1.0
            vain = EMPTY.union(*(context for context, share in shares.items() if not share))
            self._leading[key] = _Leading(kept_once(frozenset.intersection(*led) - vain), shares) if mixed else None
        return self._leading[key]

    def gain(self, key: Key) -> float:
        """Return the points expected of an action that earned none in this episode yet. Losses count as 0."""
        if key not in self._gains:
            fresh = [o for o in self._occasions.get(key, ()) if o.fresh]
            self._gains[key] = sum(max(0.0, o.reward) for o in fresh) / len(fresh) if fresh else 0.0
        return self._gains[key]

    def ending(self, key: Key) -> float:
        """Return how often the episode ended with an action, deaths apart, as a share of its latest occasions."""
        if key not in self._endings:
            known = self._occasions.get(key, ())
            self._endings[key] = sum(o.ended for o in known) / len(known) if known else 0.0
        return self._endings[key]

    def similarity(self, key: Key, context: Tokens) -> float:
        """Return how similar to a context the most similar one is that the action was taken in, 0 to 1."""
        return max((jaccard(context, o.context) for o in self._occasions.get(key, ())), default=0.0)

    def died_alike(self, key: Key, context: Tokens) -> int:
        """Return how often one died of an action while the place went by the alias it has in this context."""
        alias = name_in(context)
        return sum(o.died and o.alias == alias for o in self._occasions.get(key, ()))


class PlaceViews:
    """What one place looked like to who first came there in an episode, by what was in hand."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._seen: dict[Tokens, Tokens] = {}
        self._adds = 0
        self._similar: Memo[Tokens, Tokens] = Memo(numbers.kept)

    def add(self, have: Tokens, see: Tokens) -> None:
        """Learn what the place looks like with this in hand."""
        self._seen.pop(have, None)
        self._seen[have] = see
        self._adds += 1
        if len(self._seen) > self._n.kept:
            del self._seen[next(iter(self._seen))]

    def with_in_hand(self, have: Tokens) -> Tokens:
        """Return what it looked like to who came with the most similar things in hand; nothing if nobody ever came."""
        if have in self._seen or not self._seen:
            return self._seen.get(have, EMPTY)
        return self._similar.find("", self._adds, have, lambda: self._seen[self._closest(have)])

    def _closest(self, have: Tokens) -> Tokens:
        """Return the most similar things in hand with which somebody came, the latest of equally similar ones."""
        return max(reversed(self._seen), key=lambda known: jaccard(have, known))
