"""What makes things appear at a place, out of what: read from the steps on which something appeared there.

"Take all" is possible nearly everywhere, and that it brought a rope in hand once does not say that it does so where no
rope is. So of each token that an action made appear it is kept what shared a name with it before: a rope on the floor,
or a rope tied to a railing. Where none of these is there, nor can be made first, the action makes no such thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from engine.values.conditions import Conditions, Tokens, names_in
from engine.values.memo import Memo

_KINDS = 8
"""Alternatives kept of what was there of its kind before an action made a thing; with as many, anything may do."""
_KEPT = 1 << 14
"""Answers kept of what may be made."""


class Makers:
    """What can be made at one place.

    What may be made within some rounds is told as if each round did all that is possible by then, and nothing were
    ever lost by it.

    Args:
        possible: When the actions of the place are possible.
        moves: Actions that lead elsewhere, and help with nothing here; grows as they are learnt.

    Attributes:
        version: Grows whenever something was made in a way not known before.
    """

    def __init__(self, possible: Conditions, moves: Set[str]) -> None:
        self.version = 0
        self._possible = possible
        self._moves = moves
        self._made: dict[str, dict[str, set[Tokens]]] = {}
        """By token, what made it, and out of what."""
        self._told: Memo[tuple[str, str, Tokens, int], bool] = Memo(_KEPT)

    def add(self, token: str, action: str, context: Tokens) -> None:
        """Learn that an action made a token appear in a context."""
        kinds = self._made.setdefault(token, {}).setdefault(action, set())
        known = len(kinds)
        if known < _KINDS:
            kinds.add(of_its_kind(token, context))
        self.version += not known or len(kinds) != known

    def helpers(self, needed: Tokens, context: Tokens, rounds: int) -> Iterable[str]:
        """Return the actions that may make any of `needed` appear within so many rounds."""
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
        version = (self._possible.version, self.version, len(self._moves))
        key = (action, token, context, rounds)
        return self._told.find(version, key, lambda: self._worked_out(*key))

    def _worked_out(self, action: str, token: str, context: Tokens, rounds: int) -> bool:
        if not any(self._all_there(need, context, rounds) for need in self._possible.needs(action)):
            return False
        kinds = self._made[token][action]
        return len(kinds) >= _KINDS or any(self._all_there(kind, context, rounds) for kind in kinds)

    def _all_there(self, tokens: Tokens, context: Tokens, rounds: int) -> bool:
        """Return whether all of these are there or may be made."""
        missing = tokens - context
        if not missing:
            return True
        if not rounds or not self._made.keys() >= missing:
            return False
        return all(
            any(self._makes(action, token, context, rounds - 1) for action in self._made[token]) for token in missing
        )


def of_its_kind(token: str, context: Tokens) -> Tokens:
    """Return what in a context shares a name with a token."""
    wanted = names_in(token)
    return frozenset(other for other in context if not wanted.isdisjoint(names_in(other)))
