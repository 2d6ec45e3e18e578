"""What was made at a place, by which actions and out of what: read from the steps on which something appeared there.

"Take all" is possible nearly everywhere, and that it brought a rope in hand once does not say that it does so where no
rope is. So of each thing that an action made appear it is kept what shared a name with it before: a rope on the floor,
or a rope tied to a railing. Where none of these is there, nor can be made first, the action makes no such thing.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Container, Iterable, Iterator

from engine.values.conditions import Conditions, Tokens, names_in
from engine.values.likeness import Likeness

_KINDS = 8
"""Alternatives kept of what was there of its kind before an action made a thing; with as many, anything may do."""
_KEPT = 1 << 15
"""Answers kept of what may become possible; with more, all is thought over again."""
_Told = dict[tuple[str | int, int, int], bool]
"""By action or token, rounds, and what is there of all that matters for it."""


class Makers:
    """What can be made at one place.

    What may become possible within some rounds is told as if each round did all that is possible by then, and nothing
    were ever lost by it: who looks for what makes an action possible finds nothing where this finds nothing. What is
    asked on the way is asked for fewer rounds, so asking comes to an end.

    Args:
        possible: When the actions of the place are possible.
        likeness: Tells the numbers that stand for tokens, and sets of them.

    Attributes:
        version: Grows whenever something was made in a way not known before.
    """

    def __init__(self, possible: Conditions, likeness: Likeness) -> None:
        self.version = 0
        self._possible = possible
        self._likeness = likeness
        self._made: dict[int, dict[str, set[int]]] = {}
        """By token, what made it, and out of what."""
        self._ever = 0
        """All that was ever made."""
        self._needs: dict[str, tuple[int, ...]] = {}
        self._matter: dict[tuple[str | int, int], int] = {}
        self._of: dict[int, int] = {}
        self._possibly: _Told = {}
        self._makeable: _Told = {}

    def add(self, token: str, action: str, context: Tokens) -> None:
        """Learn that an action made a token appear in a context."""
        bit = self._likeness.bit(token)
        self._ever |= bit
        made = self._made.setdefault(bit, {})
        kinds, known = made.setdefault(action, set()), len(made.get(action, ()))
        if len(kinds) < _KINDS:
            kinds.add(self._likeness.number(of_its_kind(token, context)))
        self.version += len(kinds) != known

    def forget(self) -> None:
        """Think all over again: something about what is needed, or makes things, is new."""
        self._needs.clear()
        self._matter.clear()
        self._of.clear()
        self._possibly.clear()
        self._makeable.clear()

    def helpers(self, needed: Tokens, context: Tokens, rounds: int, moves: Container[str]) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear within so many rounds.

        Args:
            moves: Actions that lead elsewhere, and help with nothing here.
        """
        there = self._likeness.number(context)
        return dict.fromkeys(
            action
            for token in map(self._likeness.bit, sorted(needed))
            for action in self._made.get(token, ())
            if self._makes(action, token, there, rounds, moves)
        )

    def _attainable(self, action: str, there: int, rounds: int, moves: Container[str]) -> bool:
        needs, hoped, hopeful = self._needed(action), there | self._ever, False
        for need in needs:
            if need & there == need:
                return True
            # Most often something was never made, and that is soon told.
            hopeful = hopeful or need & hoped == need
        if not rounds or not hopeful:
            return False
        key = (action, rounds, there & self._matters(action, rounds, moves))
        found = self._possibly.get(key)
        if found is None:
            if len(self._possibly) + len(self._makeable) > _KEPT:
                self.forget()
            found = any(self._all_there(need, there, rounds, moves) for need in needs)
            self._possibly[key] = found
        return found

    def _needed(self, action: str) -> tuple[int, ...]:
        """Return the numbers of what an action needs."""
        found = self._needs.get(action)
        if found is None:
            found = self._needs[action] = tuple(map(self._likeness.number, self._possible.needs(action)))
        return found

    def _all_there(self, tokens: int, there: int, rounds: int, moves: Container[str]) -> bool:
        """Return whether all of these are there or may be made."""
        missing = tokens ^ (tokens & there)
        if missing & self._ever != missing:
            return False
        return all(self._may_be_made(token, there, rounds, moves) for token in _each(missing))

    def _may_be_made(self, token: int, there: int, rounds: int, moves: Container[str]) -> bool:
        if rounds == 0:
            return False
        key = (token, rounds, there & self._matters(token, rounds, moves))
        found = self._makeable.get(key)
        if found is None:
            found = any(self._makes(action, token, there, rounds - 1, moves) for action in self._made[token])
            self._makeable[key] = found
        return found

    def _makes(self, action: str, token: int, there: int, rounds: int, moves: Container[str]) -> bool:
        """Return whether an action may become possible, and may then make the token of something that may be there."""
        if action in moves or not self._attainable(action, there, rounds, moves):
            return False
        kinds = self._made[token][action]
        return len(kinds) >= _KINDS or any(self._all_there(kind, there, rounds, moves) for kind in kinds)

    def _matters(self, of: str | int, rounds: int, moves: Container[str]) -> int:
        """Return all tokens that an action, or what makes a token, hangs on: with the same there the same is told."""
        found = self._matter.get((of, rounds))
        if found is None:
            latest = of if isinstance(of, int) else _together(self._needed(of))
            found = latest
            for _ in range(rounds):
                latest = _together(self._makings(token, moves) for token in _each(latest & self._ever))
                found |= latest
            self._matter[(of, rounds)] = found
        return found

    def _makings(self, token: int, moves: Container[str]) -> int:
        """Return what the actions that make a token need, and what they make it of."""
        found = self._of.get(token)
        if found is None:
            makers = self._made[token].items()
            found = self._of[token] = _together(
                number
                for maker, kinds in makers
                if maker not in moves
                for number in (*self._needed(maker), *kinds)
            )
        return found


def _together(numbers: Iterable[int]) -> int:
    """Return the number of all tokens in any of these sets."""
    return functools.reduce(operator.or_, numbers, 0)


def _each(number: int) -> Iterator[int]:
    """Yield the numbers of the tokens of a set one by one."""
    while number:
        token = number & -number
        yield token
        number ^= token


def of_its_kind(token: str, context: Tokens) -> Tokens:
    """Return what in a context shares a name with a token."""
    wanted = names_in(token)
    return frozenset(other for other in context if not wanted.isdisjoint(names_in(other)))
