"""Writes the calculations of a decision with numbers: whoever calculates with the shown digits gets the shown result.

The result has two decimals, as everywhere on the screen. What it is made of has as many decimals as that takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.records import Candidate, Decision

PLACES, MOST_PLACES = 2, 12
"""Decimals of a number, and the most that a number in a calculation has."""


def number(x: float, places: int = PLACES) -> str:
    """Return x with its sign. It uses a minus sign instead of a hyphen, so that columns line up."""
    return f"{x:+.{places}f}".replace("-", "\N{MINUS SIGN}")


def places_for(result: float, numbers: Sequence[float], again: Callable[[Sequence[float]], float], of: int) -> int:
    """Return with how many decimals numbers must be written for their calculation to give a result again.

    Args:
        result: The result.
        numbers: What it is calculated from.
        again: Calculates it from them.
        of: Decimals that the result is written with.
    """
    shown, unit = round(result, of), 10.0**-of
    for places in range(min(of, PLACES), MOST_PLACES):
        if abs(again([round(x, places) for x in numbers]) - shown) <= 0.5 * unit * (1 + 1e-6):
            return places
    return MOST_PLACES


def write_result(
    result: float, numbers: Sequence[float], again: Callable[[Sequence[float]], float], of: int = PLACES
) -> tuple[str, ...]:
    """Return a result and the numbers that it is calculated from, in the decimals that `places_for` says."""
    places = places_for(result, numbers, again, of)
    return number(result, of), *(number(x, places) for x in numbers)


def sum_of(result: float, parts: Sequence[float]) -> tuple[str, ...]:
    """Return a sum and its parts, written so that they add up."""
    return write_result(result, parts, sum)


def difference(q: float, v: float) -> tuple[str, str, str]:
    """Return Q, V and A = Q - V, written so that the difference is right."""
    a, *parts = write_result(q - v, (q, v), lambda x: x[0] - x[1])
    return parts[0], parts[1], a


def apart(less: float, more: float) -> tuple[str, str]:
    """Return two numbers of which the first is smaller, with as many decimals as it takes to see that."""
    places = next((n for n in range(PLACES, MOST_PLACES) if f"{less:.{n}f}" != f"{more:.{n}f}"), MOST_PLACES)
    return f"{less:.{places}f}", f"{more:.{places}f}"


def write_sum(z: float, beta: float, normalised: float, z_prime: float) -> tuple[str, str, str]:
    """Return z, normalised A and z′ = z + β·Ã, written so that the sum is right with the beta of `f"{beta:g}"`."""
    factor = float(f"{beta:g}")
    result, *parts = write_result(z_prime, (z, normalised), lambda x: x[0] + factor * x[1])
    return parts[0], parts[1], result


def places_beside(beta: float) -> int:
    """Return the decimals of normalised A in a table: times beta, what is rounded off makes no difference to z′."""
    return min(4, max(PLACES, math.ceil(math.log10(max(beta, 1e-9) * 500.0))))


def equation(z: float, beta: float, normalised: float, z_prime: float, before: float, after: float) -> str:
    """Return z′ = z + β·Ã with its numbers, and the probability before and after."""
    first, a, result = write_sum(z, beta, normalised, z_prime)
    return f"z′ = z + β·Ã = {first} + {beta:g}·({a}) = {result}   π {before:.0%} → {after:.0%}"


def update(decision: Decision) -> str:
    """Return `equation` of the chosen candidate; "" where the choice does not follow from it."""
    made, i = decision.update, decision.chosen
    if made is None or not made.equation or i < 0:
        return ""
    z, a, z_prime = decision.candidates[i].z, made.advantage_normalised[i], made.z_prime[i]
    return equation(z, made.beta, a, z_prime, decision.prior[i], decision.posterior[i])


def scale(advantage: Sequence[float], normalisation: str, others: Sequence[float] = ()) -> tuple[str, float]:
    """Return what advantages are divided by: its name, and its value without epsilon.

    Args:
        advantage: A of all candidates.
        others: A of remembered actions that are no candidates. They count with the normalisation "positive".
    """
    if normalisation != "positive":
        return "max|Â|", max(map(abs, advantage), default=0.0)
    every, of = [*advantage, *others], " of all remembered actions" if others else ""
    largest = max(every, default=0.0)
    return (f"max Â{of}", largest) if largest > 0 else (f"max|Â|{of}", max(map(abs, every), default=0.0))


def write_normalised(
    advantage: Sequence[float],
    index: int,
    settings: Mapping[str, Any],
    others: Sequence[float] = (),
    share: float = 1.0,
    of: int = PLACES,
) -> str:
    """Return normalised A = A / (max |A| + epsilon) of a candidate with its numbers.

    Args:
        advantage: A of all candidates, as it is shown.
        settings: Settings of the run.
        others: As of `scale`.
        share: The factor between A as it is shown and A as the decision was made with.
        of: Decimals of the result.
    """
    name, largest = scale(advantage, str(settings.get("normalisation", "")), others)
    epsilon = float(settings.get("epsilon", 0.0)) * float(settings.get("epsilon_times", 1)) * share
    if not largest:
        return "Ã = 0, because all Â are 0"
    small = float(f"{epsilon:.3g}")
    made = advantage[index] / (largest + epsilon)
    result, a, by = write_result(made, (advantage[index], largest), lambda x: x[0] / (x[1] + small), of)
    return f"Ã = Â / ({name} + ε) = {a} / ({by.lstrip('+')} + {small:g}) = {result}"


def logit(candidate: Candidate, decision: Decision, settings: Mapping[str, Any], model: str, reading: str) -> str:
    """Return the calculation, with numbers, that made what the model said into a logit; "" if it is not known.

    Args:
        candidate: A candidate of the decision.
        settings: Settings of the run.
        model: Name of the model. A mixture of two models ("+") has logits of another kind.
        reading: How the model's opinion was read: "verbalized", "token" or "string".
    """
    if "+" in model:
        return ""
    if candidate.confidence is not None:
        return _of_confidence(candidate.confidence, candidate.z, settings)
    if candidate.logprob is not None:
        return _of_likelihood(candidate.logprob, candidate.z, decision.candidates, settings, reading)
    return ""


def _of_confidence(confidence: float, z: float, settings: Mapping[str, Any]) -> str:
    c, transform = min(max(confidence, 0.0), 100.0), settings.get("transform")
    if transform == "linear":
        return f"z = c / 100 = {c:g} / 100 = {number(z)}"
    if transform != "log":
        return ""
    from engine.logits import LEAST_CONFIDENCE

    c = max(c, LEAST_CONFIDENCE)
    # If k confidences sum to 100, their mean is 100 / k; this is then the same as ln(c k / 100).
    mean = c / math.exp(z)
    said = float(f"{c:g}")
    places = places_for(z, (mean,), lambda x: math.log(said / x[0]) if x[0] > 0 else math.inf, PLACES)
    return f"z = ln(c / mean c) = ln({c:g} / {mean:.{places}f}) = {number(z)}"


def _of_likelihood(
    logprob: float, z: float, among: Sequence[Candidate], settings: Mapping[str, Any], reading: str
) -> str:
    softened = reading == "string"
    heat = float(settings.get("temperature", 0.0)) * (float(settings.get("softening", 1.0)) if softened else 1.0)
    divisor = "(temperature · softening)" if softened else "temperature"
    rated = [(one.logprob, one.z) for one in among if one.logprob is not None]
    for divided, by in ((divisor, heat), ("1", 1.0)):  # a model that was trained for the choice has no temperature
        means = [p - by * value for p, value in rated]
        if by > 0 and max(means) - min(means) <= 1e-6 * (1.0 + abs(means[0])):
            return _shifted(logprob, means[0], z, "ln mean p" if reading == "token" else "mean ln p", divided, by)
    return ""


def _shifted(logprob: float, mean: float, z: float, name: str, divided: str, by: float) -> str:
    said = float(f"{by:g}")
    result, p, less = write_result(z, (logprob, mean), lambda x: (x[0] - x[1]) / said)
    return f"z = (ln p − {name}) / {divided} = ({p} − ({less})) / {by:g} = {result}"
