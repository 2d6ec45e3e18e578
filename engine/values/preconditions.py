"""What actions need, and what makes what they need appear at a place.

What an action needs is read from the valid actions of every remembered situation. The tokens that name the action's
objects count first: to take a lamp, a lamp has to be there. An action may be possible in situations that differ (the
lamp lies here, or it is in hand), so needs are alternatives. If the objects were there and the action still was not
possible, it also needs what was there whenever it was possible, and never in those situations.

What makes a thing appear is read from the steps on which it appeared. "Take all" is possible nearly everywhere. That it
once brought a rope in hand does not mean that it does so where no rope is. So for each token that an action made
appear, the tokens are kept that shared a name with it before: a rope on the floor, or a rope tied to a railing. Where
none of these is there, nor can be made first, the action makes no such thing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Set

from engine.settings.plan import PlanNumbers
from engine.values.counts import rate
from engine.values.text import EMPTY, Tokens, kept_once, names_in, objects, words_of_token


class Preconditions:
    """The actions of one place, and when each is possible."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._contexts: dict[Tokens, frozenset[str]] = {}
        """By situation, what was possible in it last."""
        self._latest: deque[Tokens] = deque(maxlen=numbers.kept)
        self._clauses: dict[str, dict[Tokens, Tokens]] = {}
        """By action and the tokens that name its objects on a valid occasion, what all such situations have."""
        self._needs: dict[str, tuple[Tokens, ...]] = {}
        self._chances: dict[tuple[str, Tokens], float] = {}

    def __iter__(self) -> Iterator[str]:
        """All actions that ever were possible."""
        return iter(self._clauses)

    def see(self, context: Tokens, possible: tuple[str, ...]) -> bool:
        """Learn from a situation; return whether an action was possible that never was."""
        now = kept_once(frozenset(possible))
        known = self._contexts.get(context)
        if known == now:
            return False
        if known is None:
            self._latest.append(context)
        self._contexts[context] = now
        named: defaultdict[str, set[str]] = defaultdict(set)
        for token in context:
            for word in words_of_token(token):
                named[word].add(token)
        before = len(self._clauses)
        for action in possible:
            about, clauses = objects(action), self._clauses.setdefault(action, {})
            clause = EMPTY.union(*(named.get(word, ()) for word in about))
            clauses[clause] = kept_once(clauses.pop(clause, context) & context)
            if len(clauses) > self._n.kept:
                del clauses[next(iter(clauses))]
        self._needs.clear()
        self._chances.clear()
        return len(self._clauses) > before

    def needs(self, action: str) -> tuple[Tokens, ...]:
        """Return sets of tokens, any one of which makes the action possible as far as is known.

        There is none for an action that never was possible here.
        """
        if action not in self._needs:
            self._needs[action] = self._read(action, self._clauses.get(action, {}))
        return self._needs[action]

    def missing(self, action: str, context: Tokens) -> Tokens:
        """Return the fewest tokens that have to be added to a context to make the action possible.

        Empty also where no need is known, as of an action that never was possible here; `chance` then decides.
        """
        if action in self._contexts.get(context, ()):
            return EMPTY
        return min((need - context for need in self.needs(action)), key=len, default=EMPTY)

    def chance(self, action: str, context: Tokens) -> float:
        """Return how likely the action is possible where all that it is known to need is there.

        Read from the remembered situations of this place that had it, too; in one that is remembered itself, 1 or 0.
        """
        if context in self._contexts:
            return float(action in self._contexts[context])
        need = next((need for need in self.needs(action) if need <= context), None)
        if need is None:
            return 0.0
        if (action, need) not in self._chances:
            had = [self._contexts[seen] for seen in self._latest if need <= seen]
            hits = sum(action in possible for possible in had)
            self._chances[(action, need)] = rate(hits, len(had), 1.0, self._n.possible)
        return self._chances[(action, need)]

    def _read(self, action: str, clauses: dict[Tokens, Tokens]) -> tuple[Tokens, ...]:
        """Return what an action needs, by the situations in which it was possible and those in which it was not."""
        against = [seen for seen in self._latest if action not in self._contexts[seen]]
        found: list[Tokens] = []
        for clause, always in clauses.items():
            need, vain = clause, [context for context in against if clause <= context]
            if vain:
                need |= always - EMPTY.union(*vain)
            found.append(need)
        return tuple(need for need in found if not any(other < need for other in found))


class Makers:
    """What can be made at one place.

    Asked what may be made within some rounds, it answers as if each round did all that is possible by then, and
    nothing were ever lost by it.

    Args:
        preconditions: What the actions of the place need.
        moves: Actions that lead elsewhere, and help with nothing here; grows as they are learnt.
    """

    def __init__(self, numbers: PlanNumbers, preconditions: Preconditions, moves: Set[str]) -> None:
        self._kinds = 2 * numbers.breadth
        self._preconditions = preconditions
        self._moves = moves
        self._made: defaultdict[str, dict[str, set[Tokens]]] = defaultdict(dict)
        """By token, what made it, and out of what."""

    def add(self, token: str, action: str, context: Tokens) -> None:
        """Learn that an action made a token appear in a context."""
        kinds = self._made[token].setdefault(action, set())
        if len(kinds) < self._kinds:
            kinds.add(_of_its_kind(token, context))

    def helpers(self, needed: Tokens, context: Tokens, rounds: int) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear.

        Args:
            rounds: Actions in a row that may come first; 0 for only what is possible now.
        """
        return dict.fromkeys(
            action
            for token in sorted(needed)
            for action in self._made.get(token, ())
            if self._makes(action, token, context, rounds)
        )

    def _makes(self, action: str, token: str, context: Tokens, rounds: int) -> bool:
        """Return whether an action may become possible, and may then make the token of something that may be there."""
        if action in self._moves:
            return False
        if not any(self._all_there(need, context, rounds) for need in self._preconditions.needs(action)):
            return False
        kinds = self._made[token][action]
        return len(kinds) >= self._kinds or any(self._all_there(kind, context, rounds) for kind in kinds)

    def _all_there(self, tokens: Tokens, context: Tokens, rounds: int) -> bool:
        """Return whether all of these are there or may be made."""
        missing = tokens - context
        if not missing or not rounds:
            return not missing
        return all(
            any(self._makes(action, token, context, rounds - 1) for action in self._made.get(token, ()))
            for token in missing
        )


def _of_its_kind(token: str, context: Tokens) -> Tokens:
    """Return what in a context shares a name with a token."""
    wanted = names_in(token)
    return frozenset(other for other in context if not wanted.isdisjoint(names_in(other)))
