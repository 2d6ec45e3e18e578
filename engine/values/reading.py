"""States as the estimator reads them: with what shows only in what can be done."""

from __future__ import annotations

from engine.records import State, Step
from engine.values.bringing import Bringing
from engine.values.situations import Situation, situation
from engine.values.unseen import Unseen


class Reader:
    """Takes states apart.

    Args:
        bringing: Knows what can be carried.
        moves: Actions that lead from place to place; grows as they are learnt.
    """

    def __init__(self, bringing: Bringing, moves: set[str]) -> None:
        self._bringing, self._moves = bringing, moves
        self._unseen = Unseen()

    def read(self, state: State, possible: tuple[str, ...]) -> Situation:
        """Take a state apart, and add what only `possible` tells."""
        return self._unseen.add(situation(state), possible)

    def read_step(
        self, step: Step, then: State, possible: tuple[str, ...] | None
    ) -> tuple[Situation, Situation]:
        """Take the states before and after a step apart, and learn what does not show.

        Args:
            possible: What can be done after it, None if that is not known.
        """
        now, after = situation(step.state), situation(then)
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
        told = self._unseen.told(now) if after.place == now.place else frozenset[str]()
        return now, after._replace(see=after.see | told) if told else after
