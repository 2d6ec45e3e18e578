"""Actions that a person has forbidden in a state, for the rest of a session."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from engine import jitrl
from engine.records import Decided, Decision, Event, State, Update


class Vetoes:
    """The vetoed actions by state.

    Args:
        past: Events of the session so far. What a person or a rule decided last in a state says what is vetoed there.
    """

    def __init__(self, past: Iterable[Event] = ()) -> None:
        self._by_state: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        for event in past:
            if isinstance(event, Decided) and event.decision.by != "agent":
                self.put(event.decision.state, event.decision.vetoed)

    def of(self, state: State) -> tuple[str, ...]:
        """Return the actions that are vetoed in a state, the first one first."""
        return self._by_state.get((state.place, state.tokens), ())

    def put(self, state: State, actions: tuple[str, ...]) -> None:
        """Set which actions are vetoed in a state."""
        if actions:
            self._by_state[state.place, state.tokens] = actions
        else:
            self._by_state.pop((state.place, state.tokens), None)


def without(decision: Decision, vetoed: tuple[str, ...], *, greedy: bool, draw: float) -> Decision | None:
    """Return the decision that is made from the same candidates without the vetoed ones; None if none is left.

    The posterior is renormalised over the candidates that are left. No model is asked.

    Args:
        greedy: Whether the most probable candidate is taken, instead of a drawn one.
        draw: A random number in [0, 1).
    """
    left = [i for i, candidate in enumerate(decision.candidates) if candidate.action not in vetoed]
    if not left:
        return None
    policy = _renormalised(decision, left)
    best = np.flatnonzero(policy >= policy.max() - 1e-12)
    chosen = left[int(best[int(draw * len(best))]) if greedy else jitrl.sample(policy, draw)]
    posterior = [0.0] * len(decision.candidates)
    for i, probability in zip(left, policy, strict=True):
        posterior[i] = float(probability)
    action = decision.candidates[chosen].action
    names = " and ".join(f"'{name}'" for name in vetoed)
    parts = tuple(
        dataclasses.replace(part, without_memory="", equation="") if isinstance(part, Update) else part
        for part in decision.parts
    )
    return dataclasses.replace(
        decision,
        posterior=tuple(posterior),
        chosen=chosen,
        action=action,
        why=f"You vetoed {names} in this state. Of the candidates left, '{action}' has {posterior[chosen]:.0%}.",
        parts=parts,
        vetoed=vetoed,
    )


def _renormalised(decision: Decision, left: Sequence[int]) -> jitrl.Array:
    """Return the posterior of the candidates that are left, renormalised."""
    policy = np.asarray([decision.posterior[i] for i in left])
    if policy.sum() > 0.0:
        return np.asarray(policy / policy.sum())
    # The vetoed ones had all of the posterior, as far as a number can say.
    update = decision.update
    return jitrl.softmax([update.z_prime[i] if update else decision.candidates[i].z for i in left])
