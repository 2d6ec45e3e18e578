"""What was made at a place, by which actions and out of what: read from the steps on which something appeared there.

"Take all" is possible nearly everywhere, and that it brought a rope in hand once does not say that it does so where no
rope is. So of each thing that an action made appear it is kept what shared a name with it before: a rope on the floor,
or a rope tied to a railing. Where none of these is there, nor can be made first, the action makes no such thing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from engine.values.conditions import Conditions, Tokens, names_in

_KINDS = 8
"""Alternatives kept of what was there of its kind before an action made a thing; with as many, anything may do."""
_SITUATIONS = 64
"""Situations for which it is remembered what may become possible there."""

_Known = dict[tuple[str, str, int], bool]
"""By action or token, and rounds, whether it may become possible, or be there."""


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
        self._known: dict[Tokens, _Known] = {}
        self._reached: dict[tuple[str, int], Tokens] = {}
        self._told: dict[tuple[str, int, Tokens], bool] = {}

    def add(self, token: str, action: str, context: Tokens) -> None:
        """Learn that an action made a token appear in a context."""
        made = self._made.setdefault(token, {})
        kinds, known = made.setdefault(action, set()), len(made.get(action, ()))
        if len(kinds) < _KINDS:
            kinds.add(of_its_kind(token, context))
        self.version += len(kinds) != known

    def forget(self) -> None:
        """Think all over again: something about what is needed, or makes things, is new."""
        self._known.clear()
        self._reached.clear()
        self._told.clear()

    def attainable(self, action: str, context: Tokens, rounds: int, moves: Container[str]) -> bool:
        """Return whether an action may become possible in a context, within so many rounds.

        Args:
            moves: Actions that lead elsewhere, and help with nothing here.
        """
        key = (action, rounds, context & self._reach(action, rounds, moves))
        found = self._told.get(key)
        if found is None:
            found = self._told[key] = self._may(action, context, rounds, moves, self._about(context))
        return found

    def _reach(self, action: str, rounds: int, moves: Container[str]) -> Tokens:
        """Return all tokens that `attainable` may ask for: in situations alike in these it tells the same."""
        found = self._reached.get((action, rounds))
        if found is None:
            found = self._reached[(action, rounds)] = self._search_reach(action, rounds, moves)
        return found

    def _search_reach(self, action: str, rounds: int, moves: Container[str]) -> Tokens:
        latest = {token for need in self._possible.needs(action) for token in need}
        tokens = set(latest)
        for _ in range(rounds):
            further = set[str]()
            for token in latest:
                for maker, kinds in self._made.get(token, {}).items():
                    if maker not in moves:
                        further.update(*self._possible.needs(maker), *kinds)
            latest = further
            tokens |= latest
        return frozenset(tokens)

    def helpers(self, needed: Tokens, context: Tokens, rounds: int, moves: Container[str]) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear within so many rounds."""
        known = self._about(context)
        return dict.fromkeys(
            action
            for token in sorted(needed)
            for action in self._made.get(token, ())
            if self._makes(action, token, context, rounds, moves, known)
        )

    def _about(self, context: Tokens) -> _Known:
        if len(self._known) > _SITUATIONS:
            self._known.clear()
        return self._known.setdefault(context, {})

    def _may(self, action: str, context: Tokens, rounds: int, moves: Container[str], known: _Known) -> bool:
        key = (action, "", rounds)
        found = known.get(key)
        if found is None:
            found = known[key] = any(
                self._all_there(need, context, rounds, moves, known) for need in self._possible.needs(action)
            )
        return found

    def _all_there(
        self, tokens: Tokens, context: Tokens, rounds: int, moves: Container[str], known: _Known
    ) -> bool:
        """Return whether all of these are there or may be made."""
        return all(self._makeable(token, context, rounds, moves, known) for token in tokens - context)

    def _makeable(
        self, token: str, context: Tokens, rounds: int, moves: Container[str], known: _Known
    ) -> bool:
        if rounds == 0:
            return False
        key = ("", token, rounds)
        found = known.get(key)
        if found is None:
            found = known[key] = any(
                self._makes(action, token, context, rounds - 1, moves, known)
                for action in self._made.get(token, ())
            )
        return found

    def _makes(
        self, action: str, token: str, context: Tokens, rounds: int, moves: Container[str], known: _Known
    ) -> bool:
        """Return whether an action may become possible, and may then make the token of something that may be there."""
        if action in moves or not self._may(action, context, rounds, moves, known):
            return False
        kinds = self._made[token][action]
        return len(kinds) >= _KINDS or any(
            self._all_there(kind, context, rounds, moves, known) for kind in kinds
        )


def of_its_kind(token: str, context: Tokens) -> Tokens:
    """Return what in a context shares a name with a token."""
    wanted = names_in(token)
    return frozenset(other for other in context if not wanted.isdisjoint(names_in(other)))
