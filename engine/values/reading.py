"""States as the estimator reads them: with what is gone, and with what shows only in what can be done."""

from __future__ import annotations

from engine.records import State, Step
from engine.values.absences import Absences
from engine.values.bringing import Bringing
from engine.values.conditions import Tokens
from engine.values.situations import Situation
from engine.values.unseen import Unseen

_NONE: Tokens = frozenset()


class Reader:
    """Takes states apart.

    Args:
        bringing: Knows what can be carried.
        moves: Actions that lead from place to place; grows as they are learnt.
    """

    def __init__(self, bringing: Bringing, moves: set[str]) -> None:
        self._bringing, self._moves = bringing, moves
        self._absences = Absences(bringing)
        self._unseen = Unseen()

    def see(self, now: Situation) -> None:
        """Learn what stands at a place."""
        self._absences.see(now)

    def read(self, state: State, possible: tuple[str, ...]) -> Situation:
        """Take a state apart, and add what used to be at the place and is gone, and what only `possible` tells."""
        return self._unseen.add(self._absences.read(state), possible)

    def read_step(
        self, step: Step, then: State, possible: tuple[str, ...] | None
    ) -> tuple[Situation, Situation]:
        """Take the states before and after a step apart, and learn what does not show.

        Args:
            possible: What can be done after it, None if that is not known.
        """
        now, after = self._absences.read(step.state), self._absences.read(then)
        if possible is not None:
            self._unseen.learn(
                now,
                step.action,
                step.valid_actions,
                after,
                possible,
                moves=self._moves,
                portable=self._bringing.names,
            )
            return self._unseen.add(now, step.valid_actions), self._unseen.add(after, possible)
        now = self._unseen.add(now, step.valid_actions)
        # What does not show is taken to have stayed as it was.
        told = self._unseen.told(now) if after.place == now.place else _NONE
        return now, after._replace(see=after.see | told) if told else after
