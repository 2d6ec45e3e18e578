"""What was made at a place, by which actions and out of what: read from the steps on which something appeared there.

"Take all" is possible nearly everywhere, and that it brought a rope in hand once does not say that it does so where no
rope is. So of each thing that an action made appear it is kept what shared a name with it before: a rope on the floor,
or a rope tied to a railing. Where none of these is there, nor can be made first, the action makes no such thing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from engine.values.conditions import Conditions, Tokens, names_in

_NONE: Tokens = frozenset()
_KINDS = 8
"""Alternatives kept of what was there of its kind before an action made a thing; with as many, anything may do."""
_KEPT = 1 << 15
"""Answers kept of what may become possible; with more, all is thought over again."""
_Told = dict[tuple[str, int, Tokens], bool]
"""By action or token, rounds, and what is there of all that matters for it."""


class Makers:
    """What can be made at one place.

    What may become possible within some rounds is told as if each round did all that is possible by then, and nothing
    were ever lost by it: who looks for what makes an action possible finds nothing where this finds nothing. What is
    asked on the way is asked for fewer rounds, so asking comes to an end.

    Args:
        possible: When the actions of the place are possible.

    Attributes:
        version: Grows whenever something was made in a way not known before.
    """

    def __init__(self, possible: Conditions) -> None:
        self.version = 0
        self._possible = possible
        self._made: dict[str, dict[str, set[Tokens]]] = {}
        self._matter: dict[tuple[str, int, bool], Tokens] = {}
        self._of: dict[str, Tokens] = {}
        self._possibly: _Told = {}
        self._makeable: _Told = {}

    def add(self, token: str, action: str, context: Tokens) -> None:
        """Learn that an action made a token appear in a context."""
        made = self._made.setdefault(token, {})
        kinds, known = made.setdefault(action, set()), len(made.get(action, ()))
        if len(kinds) < _KINDS:
            kinds.add(of_its_kind(token, context))
        self.version += len(kinds) != known

    def forget(self) -> None:
        """Think all over again: something about what is needed, or makes things, is new."""
        self._matter.clear()
        self._of.clear()
        self._possibly.clear()
        self._makeable.clear()

    def attainable(self, action: str, context: Tokens, rounds: int, moves: Container[str]) -> bool:
        """Return whether an action may become possible in a context, within so many rounds.

        Args:
            moves: Actions that lead elsewhere, and help with nothing here.
        """
        needs = self._possible.needs(action)
        if any(need <= context for need in needs):
            return True
        # Most often something was never made, and that is soon told.
        if not rounds or not any(
            all(token in context or token in self._made for token in need) for need in needs
        ):
            return False
        key = (action, rounds, context & self._matters(action, rounds, moves))
        found = self._possibly.get(key)
        if found is None:
            if len(self._possibly) + len(self._makeable) > _KEPT:
                self.forget()
            found = any(self._all_there(need, context, rounds, moves) for need in needs)
            self._possibly[key] = found
        return found

    def helpers(self, needed: Tokens, context: Tokens, rounds: int, moves: Container[str]) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear within so many rounds."""
        return dict.fromkeys(
            action
            for token in sorted(needed)
            for action in self._made.get(token, ())
            if self._makes(action, token, context, rounds, moves)
        )

    def _all_there(self, tokens: Tokens, context: Tokens, rounds: int, moves: Container[str]) -> bool:
        """Return whether all of these are there or may be made."""
        return all(self._may_be_made(token, context, rounds, moves) for token in tokens - context)

    def _may_be_made(self, token: str, context: Tokens, rounds: int, moves: Container[str]) -> bool:
        makers = self._made.get(token)
        if rounds == 0 or makers is None:
            return False
        key = (token, rounds, context & self._matters(token, rounds, moves, made=True))
        found = self._makeable.get(key)
        if found is None:
            found = any(self._makes(action, token, context, rounds - 1, moves) for action in makers)
            self._makeable[key] = found
        return found

    def _makes(self, action: str, token: str, context: Tokens, rounds: int, moves: Container[str]) -> bool:
        """Return whether an action may become possible, and may then make the token of something that may be there."""
        if action in moves or not self.attainable(action, context, rounds, moves):
            return False
        kinds = self._made[token][action]
        return len(kinds) >= _KINDS or any(self._all_there(kind, context, rounds, moves) for kind in kinds)

    def _matters(self, name: str, rounds: int, moves: Container[str], *, made: bool = False) -> Tokens:
        """Return all tokens that an action, or what makes a token, hangs on: with the same there the same is told."""
        found = self._matter.get((name, rounds, made))
        if found is None:
            latest = frozenset((name,)) if made else _NONE.union(*self._possible.needs(name))
            tokens = latest
            for _ in range(rounds):
                latest = _NONE.union(*(self._makings(token, moves) for token in latest))
                tokens |= latest
            found = self._matter[(name, rounds, made)] = tokens
        return found

    def _makings(self, token: str, moves: Container[str]) -> Tokens:
        """Return what the actions that make a token need, and what they make it of."""
        found = self._of.get(token)
        if found is None:
            makers = self._made.get(token, {}).items()
            found = self._of[token] = _NONE.union(
                *(
                    tokens
                    for maker, kinds in makers
                    if maker not in moves
                    for tokens in (*self._possible.needs(maker), *kinds)
                )
            )
        return found


def of_its_kind(token: str, context: Tokens) -> Tokens:
    """Return what in a context shares a name with a token."""
    wanted = names_in(token)
    return frozenset(other for other in context if not wanted.isdisjoint(names_in(other)))
