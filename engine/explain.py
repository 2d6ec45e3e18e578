"""A decision in one sentence, and its equation with the numbers in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from engine import jitrl
from engine.records import Candidate, Decision, Neighbour, Valuation


def number(x: float) -> str:
    """Return x with a sign and two decimals; a minus sign, not a hyphen, so that columns line up."""
    return f"{x:+.2f}".replace("-", "\N{MINUS SIGN}")


def why(
    chosen: int,
    candidates: Sequence[Candidate],
    valuation: Valuation,
    neighbours: Sequence[Neighbour],
    advantage: Sequence[float],
    without_memory: str,
) -> str:
    """Return why `candidates[chosen]` was chosen, as one sentence for people."""
    action, how, n = candidates[chosen].action, valuation.how[chosen], len(neighbours)
    q, v = number(valuation.q[chosen]), number(valuation.v)
    if how == jitrl.PRIOR:
        return f"Nothing like this state is remembered, so the model's opinion alone chose '{action}'."
    if valuation.terms:
        return _planned(chosen, action, valuation, without_memory)
    visits = f"{n} similar visit{'s' if n != 1 else ''}"
    if how == jitrl.KNOWN:
        took = valuation.n[chosen]
        sentence = (
            f"'{action}' was tried in {took} of {visits}{_elsewhere(action, neighbours)} and "
            f"returned G = {q} on average, against V = {v}: "
            f"{number(advantage[chosen])}"
        )
    elif how == jitrl.OPTIMISTIC:
        sentence = f"'{action}' was never tried in {visits}: benefit of the doubt, Q = {q} against V = {v}"
    else:
        sentence = (
            f"'{action}' was never tried in {visits} and the draw gave it no bonus (Q = 0 against V = {v})"
        )
    if without_memory and without_memory != action:
        return f"{sentence}; without memory it would have been '{without_memory}'."
    return f"{sentence}; without memory the choice would have been the same."


def _elsewhere(action: str, neighbours: Sequence[Neighbour]) -> str:
    """Return how the action was called where it was taken for another task, in brackets; "" if it never was."""
    taken = [n.taken for n in neighbours if n.action == action and n.taken]
    if not taken:
        return ""
    most = max(dict.fromkeys(taken), key=taken.count)
    return f" ({len(taken)} for another task, as '{most}')"


def _planned(chosen: int, action: str, valuation: Valuation, without_memory: str) -> str:
    """Return why an action was chosen whose value comes from a plan: its parts, and what it beat."""
    parts = [f"{name} {number(values[chosen])}" for name, values in valuation.terms.items() if values[chosen]]
    best = valuation.q[chosen] >= max(valuation.q) - 1e-9
    how = f"tried here {valuation.n[chosen]}×" if valuation.n[chosen] else "never tried here"
    sentence = (
        f"The best plan found for the steps left begins with '{action}'"
        if best
        else f"'{action}' was the model's choice"
    )
    sentence += f" ({how}): Q = {' '.join(parts) or '0'}, against V = {number(valuation.v)}"
    if without_memory and without_memory != action:
        return f"{sentence}; the prior alone would have taken '{without_memory}'."
    return f"{sentence}; the prior alone would have taken it, too."


def equation(
    z: float, beta: float, advantage_normalised: float, z_prime: float, before: float, after: float
) -> str:
    """Return z' = z + beta * A with its numbers, and what it does to the probability."""
    sign = "+" if z_prime >= z else "\N{MINUS SIGN}"
    return (
        f"z' = z + β·Ã = {number(z)} {sign} {beta:g}·{abs(advantage_normalised):.2f} = {number(z_prime)}"
        f"   π {before:.0%} → {after:.0%}"
    )


def overrule(decision: Decision, action: str) -> Decision:
    """Return the decision with a person's action in its place."""
    actions = [candidate.action for candidate in decision.candidates]
    return dataclasses.replace(
        decision,
        chosen=actions.index(action) if action in actions else -1,
        action=action,
        provenance="human",
        without_memory="",
        why=f"You chose '{action}' instead of '{decision.action}'; memory will learn from it as yours.",
        equation="",
    )
