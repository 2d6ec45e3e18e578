"""What actions need: read from the situations in which they were possible at a place, and were not.

No rule tells what an action needs, but the valid actions of every remembered situation do. What names the
things that the action names counts first: whoever takes a lamp needs a lamp to be there. Several unlike
situations may do (the lamp lies here, or it is in hand), so needs are alternatives. Where what is named was
there and the action still was impossible, all that was never there then is needed as well.
"""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

Tokens = frozenset[str]

_NONE: Tokens = frozenset()
_SMALL = frozenset(
    {"all", "the", "with", "from", "into", "onto", "off", "out", "under", "behind", "about", "for"}
)
_CONTEXTS = 64
"""Latest situations of a place that are asked whether an action was impossible there."""
_CLAUSES = 16
"""Latest alternatives kept of what an action needs."""
_FREE = 0.9
"""Share of situations in which an action that needs nothing was possible from which it is taken to be always."""
_HARDLY = 0.25
"""Share of the situations in which an action was impossible that what it takes may leave unexplained."""
_UNREAD = 16
"""One in so many of a place's situations may be unread, if nothing in it was a surprise."""
_KEPT = 1 << 10
"""Situations for which it is kept what was said to be missing."""


class Told(NamedTuple):
    """What a situation told.

    Attributes:
        new: Whether it was not known.
        otherwise: Whether anything that was told before may be wrong.
        action: Whether an action was possible that never was.
    """

    new: bool
    otherwise: bool
    action: bool


class Conditions:
    """The actions of one place, and when each is possible.

    Attributes:
        version: Grows whenever what actions need is read anew.
    """

    def __init__(self) -> None:
        self.version = 0
        self._contexts: dict[Tokens, frozenset[str]] = {}
        self._met: Counter[Tokens] = Counter()
        self._not: dict[Tokens, Counter[str]] = {}
        """By situation, how often an action was not possible in it that was at other times."""
        self._latest: deque[Tokens] = deque(maxlen=_CONTEXTS)
        self._counts: Counter[str] = Counter()
        self._clauses: dict[str, dict[Tokens, Tokens]] = {}
        self._there: dict[str, set[str]] = {}
        """By action, all that ever told of the things that it names when it was possible."""
        self._naming: dict[str, set[str]] = {}
        """By word, all tokens ever seen here that it is in."""
        self._hindrances: dict[str, Tokens] = {}
        self._needs: dict[str, tuple[Tokens, ...]] = {}
        self._missing: dict[Tokens, dict[str, Tokens]] = {}
        """By situation and action, what was said to be missing."""
        self._unread = 0
        self._chances: dict[tuple[str, Tokens, bool], float] = {}

    def __iter__(self) -> Iterator[str]:
        """All actions that ever were possible."""
        return iter(self._clauses)

    def __len__(self) -> int:
        """How many situations are known."""
        return len(self._contexts)

    def see(self, context: Tokens, possible: tuple[str, ...]) -> Told:
        """Learn from a situation.

        What actions need is read anew when anything in it is a surprise. Else it only adds to what is known already,
        so that where much is known it may wait until there are more of its kind.
        """
        known = self._contexts.get(context)
        self._count(context, known, possible)
        if known is not None and known.issuperset(possible):
            return Told(False, False, False)
        if known is None:
            for token in context.difference(self._counts):
                for word in words_of_token(token):
                    self._naming.setdefault(word, set()).add(token)
            self._counts.update(context)
            self._latest.append(context)
        self._contexts[context] = frozenset(possible).union(known or ())
        named: dict[str, set[str]] = {}
        for token in context:
            for word in words_of_token(token):
                named.setdefault(word, set()).add(token)
        # What names nothing may be possible for other reasons where the place goes by another name: in the dark.
        guise = frozenset(token for token in context if token.startswith("place:"))
        new, surprise = False, known is not None
        for action in possible:
            clauses = self._clauses.get(action)
            if clauses is None:
                clauses, new = self._clauses.setdefault(action, {}), True
            about = objects(action)
            clause = _NONE.union(*(named.get(word, ()) for word in about)) if about else guise
            clauses[clause] = clauses.pop(clause, context) & context
            self._there.setdefault(action, set()).update(clause)
            if len(clauses) > _CLAUSES:
                del clauses[next(iter(clauses))]
            needs = self._needs.get(action)
            surprise = surprise or (needs is not None and not any(need <= context for need in needs))
        self._unread += 1
        if new or surprise or self._unread * _UNREAD > len(self._contexts):
            self._forget()
            return Told(known is None, True, new)
        told = self._missing.pop(context, {})
        wrong = any((action in possible) == bool(missing) for action, missing in told.items())
        return Told(True, wrong, new)

    def _forget(self) -> None:
        """Read anew from now on what actions need."""
        self.version += 1
        self._unread = 0
        self._hindrances.clear()
        self._needs.clear()
        self._missing.clear()
        self._chances.clear()

    def _count(self, context: Tokens, known: frozenset[str] | None, possible: tuple[str, ...]) -> None:
        """Count how often what was possible in a situation was not in the very same one, by luck or the unseen."""
        met = self._met[context]
        self._met[context] += 1
        if known is not None and (len(known) != len(possible) or not known.issuperset(possible)):
            seldom = self._not.setdefault(context, Counter())
            seldom.update(known.difference(possible))
            seldom.update({action: met for action in possible if action not in known})

    def was_met(self, context: Tokens) -> bool:
        """Return whether just this situation was met: what is possible there is known."""
        return context in self._contexts

    def needs(self, action: str) -> tuple[Tokens, ...]:
        """Return sets of tokens, any one of which makes the action possible as far as is known."""
        found = self._needs.get(action)
        if found is None:
            found = self._needs[action] = self._read(action)
        return found

    def missing(self, action: str, context: Tokens) -> Tokens:
        """Return the fewest tokens that have to be added to a context to make the action possible."""
        # Plans ask for the same few contexts thousands of times.
        told = self._missing.get(context)
        if told is None:
            if len(self._missing) > _KEPT:
                self._missing.clear()
            told = self._missing[context] = {}
        found = told.get(action)
        if found is None:
            known = self._contexts.get(context)
            if known is not None and action in known:
                found = _NONE
            else:
                found = min((need - context for need in self.needs(action)), key=len, default=_NONE)
            told[action] = found
        return found

    def chance(self, action: str, context: Tokens) -> float:
        """Return how likely the action is possible where all that it is known to need is there.

        Read from the remembered situations of this place that had it, too, and had what keeps one from it, or had not:
        a lamp that is on cannot be lit. In a situation that is remembered, as often as it was then.
        """
        known = self._contexts.get(context)
        if known is not None:
            if action not in known:
                return 0.0
            seldom = self._not.get(context)
            return 1.0 - seldom[action] / self._met[context] if seldom is not None else 1.0
        need = next((need for need in self.needs(action) if need <= context), None)
        return 0.0 if need is None else self._share(action, need, context)

    def _share(self, action: str, need: Tokens, context: Tokens = _NONE) -> float:
        hindrances = self.hindrances(action)
        free = hindrances.isdisjoint(context)
        found = self._chances.get((action, need, free))
        if found is None:
            had = [seen for seen in self._latest if need <= seen]
            alike = [seen for seen in had if hindrances.isdisjoint(seen) == free] or had
            possible = sum(action in self._contexts[seen] for seen in alike)
            found = self._chances[(action, need, free)] = (possible + 0.5) / (len(alike) + 0.5)
        return found

    def lasting(self, action: str, context: Tokens) -> float:
        """Return how often the action was possible in this situation, 1 if that was never met."""
        return self.chance(action, context) if self.was_met(context) else 1.0

    def is_free(self, action: str) -> bool:
        """Return whether nothing is needed for the action, and it hardly ever was not possible."""
        return _NONE in self.needs(action) and self._share(action, _NONE) >= _FREE

    def hindrances(self, action: str) -> Tokens:
        """Return what tells of the things that an action names and never was there when it was possible."""
        found = self._hindrances.get(action)
        if found is None:
            named = _NONE.union(*(self._naming.get(word, ()) for word in objects(action)))
            found = named.difference(self._there.get(action, ()))
            self._hindrances[action] = found
        return found

    def _read(self, action: str) -> tuple[Tokens, ...]:
        clauses = self._clauses.get(action)
        if not clauses:
            return ()
        # Where one of these was, nothing else was missing, for all that is known.
        hindrances = self.hindrances(action)
        against = [
            context
            for context in self._latest
            if action not in self._contexts[context] and hindrances.isdisjoint(context)
        ]
        if len(clauses) > 1:
            # What all have in common is enough, if it names as much and was never there in vain.
            common = functools.reduce(frozenset.__and__, clauses)
            about = objects(action)
            names = about & words_of(common)
            if all(about & words_of(clause) == names for clause in clauses) and not any(
                common <= context for context in against
            ):
                always = functools.reduce(frozenset.__and__, clauses.values())
                clauses = {common: always}
        if len(clauses) == 1 and not objects(action):
            # The place never went by another name when it was possible: its name says nothing then.
            clauses = {_NONE: next(iter(clauses.values()))}
        found: list[Tokens] = []
        for clause, always in clauses.items():
            vain = [context for context in against if clause <= context]
            if vain:
                need = clause | (always - _NONE.union(*vain))
                if need == clause:
                    need |= _telling(always - clause, vain)
            elif clause:
                need = clause
            else:
                seen = len(self._contexts)
                need = frozenset(token for token in always if self._counts[token] < seen)
            found.append(need)
        return tuple(need for need in found if not any(other < need for other in found))


def _telling(tokens: Tokens, vain: list[Tokens]) -> Tokens:
    """Return few tokens that no situation in vain has all of, or hardly any, though each alone was in one.

    None if there are none: what it takes does not show.
    """
    chosen, left = set[str](), vain
    while left:
        alone = {token: sum(token in context for context in left) for token in sorted(tokens)}
        token = min(alone, key=alone.__getitem__, default="")
        if not token or alone[token] == len(left):
            return frozenset(chosen) if len(left) <= _HARDLY * len(vain) else _NONE
        chosen.add(token)
        left = [context for context in left if token in context]
    return frozenset(chosen)


@functools.cache
def objects(action: str) -> frozenset[str]:
    """Return the words of an action that can name something: not its verb, nor short words."""
    return frozenset(word for word in action.split()[1:] if len(word) > 2 and word not in _SMALL)


@functools.lru_cache(maxsize=1 << 16)
def concerns(action: str, token: str) -> bool:
    """Return whether an action is done to what a token stands for, or with it: names it, or all there is."""
    return "all" in action.split()[1:] or not objects(action).isdisjoint(names_in(token))


@functools.cache
def words_of_token(token: str) -> frozenset[str]:
    """Return the words of a token, without its class; nor a room's number, by which the dark were news in each room."""
    kind, _, text = token.partition(":")
    if kind == "place":
        text = text.partition("#")[0]
    return frozenset(text.replace("@", " ").replace("=", " ").split())


@functools.lru_cache(maxsize=1 << 14)
def name_in(context: Tokens) -> str:
    """Return the name that a place goes by in a context, "" if it has no other."""
    return min((token.partition("#")[0] for token in context if token.startswith("place:")), default="")


@functools.cache
def names_in(token: str) -> frozenset[str]:
    """Return the words of a token that can name something."""
    return frozenset(word for word in words_of_token(token) if len(word) > 2 and word not in _SMALL)


def words_of(tokens: Tokens) -> frozenset[str]:
    """Return the words of tokens."""
    return frozenset().union(*map(words_of_token, tokens))


@functools.lru_cache(maxsize=1 << 16)
def union(have: Tokens, see: Tokens) -> Tokens:
    """Return what is carried and seen together: the same object each time, whose hash is known then."""
    return have | see
