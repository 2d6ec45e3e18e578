"""How each number of a decision comes about: its equation in the paper, the function that computes it, and the numbers.

Equations are numbered as in the paper's sources. Where functions are is looked up in the running code. A decision can
be exported with all that went in and came out, so that a test can compute it again (`fixture`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from engine import explain, worked
from engine.records import Candidate, Decision, Neighbour, Update
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, signed

ROOT = Path(__file__).resolve().parents[2]
MOST = 12
"""Returns that are written out in a sum."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One number of one candidate.

    Attributes:
        symbol: The paper's symbol.
        name: What it is.
        value: The number as it is shown.
        paper: Where the paper defines it, or that it does not.
        code: The function that computes it, None if that depends on the method.
        worked: The calculation with the numbers of this decision, a line for each step.
    """

    symbol: str
    name: str
    value: str
    paper: str
    code: Callable[..., Any] | None
    worked: tuple[str, ...]


def place(function: Callable[..., Any] | None) -> str:
    """Return the file, the line and the name of a function: "engine/jitrl.py:189 update_logits"."""
    if function is None:
        return "depends on the model"
    try:
        file, (_, line) = Path(inspect.getfile(function)), inspect.getsourcelines(function)
    except (OSError, TypeError):  # installed without its sources
        return f"{function.__module__}.{function.__qualname__}"
    name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    return f"{name.as_posix() if isinstance(name, Path) else name}:{line} {function.__qualname__}"


def chain(decision: Decision, index: int) -> str:
    """Return the way from the model's opinion to the probability in one line, as far as a method goes it."""
    candidate, update = decision.candidates[index], decision.update
    opinion = f"confidence {candidate.confidence:g} → " if candidate.confidence is not None else ""
    if candidate.confidence is None and candidate.logprob is not None:
        opinion = f"ln p {signed(candidate.logprob)} → "
    start = f"{opinion}z {signed(candidate.z)}"
    after = f"π {decision.posterior[index]:.1%}"
    if update is None or hits.says_nothing(update):
        return f"{start} → {after}"
    scaled = signed(update.advantage_normalised[index], 3)
    return f"{start} → Ã {scaled} → z′ {signed(update.z_prime[index])} → {after}"


def derive(choice: Choice, index: int) -> list[Derived]:
    """Return the numbers of a candidate in the order in which they are computed."""
    decision = choice.decision
    update = decision.update
    steps = [_logit(choice, decision.candidates[index]), _prior(decision, index)]
    if update is not None and not hits.says_nothing(update):
        values = _plan if update.valuation.terms else _neighbours
        steps += [*values(choice, update, index), *_update(choice, update, index)]
    if update is not None:
        steps.append(_posterior(decision, index))
    return [*steps, _choice(choice)]


def _logit(choice: Choice, candidate: Candidate) -> Derived:
    from engine import jitrl, logits

    value = signed(candidate.z)
    code: Callable[..., Any] | None = None
    paper = "Sec. 5: the logits of the base model"
    lines = (hits.logit(choice, candidate) or f"as the model gave it: {value}",)
    if hits.is_neutral(candidate):
        paper = "Algorithm 1, step 3; Eq. 23: an action that the model did not propose has the neutral logit 0"
        code, lines = jitrl.candidate_set, ("z = 0",)
    elif candidate.confidence is not None:
        code = logits.from_confidences
        paper = "Sec. 5, verbalized logit: the paper transforms confidences to logits and gives no formula"
    elif candidate.logprob is not None:
        token = choice.started is not None and choice.started.reading == "token"
        code = logits.from_index_logprobs if token else logits.from_logprobs
        paper = "Sec. 5, token-level logit: from the log-likelihood, shifted so that 0 is the mean"
    return Derived("z", "logit of the prior", value, paper, code, lines)


def _prior(decision: Decision, index: int) -> Derived:
    from engine import jitrl

    lines = _softmax("z", [candidate.z for candidate in decision.candidates], index, decision.prior[index])
    paper = "Sec. 4.3: π_θ(a|s) = softmax(z(s, a))"
    return Derived("π_θ", "probability by the prior", f"{decision.prior[index]:.1%}", paper, jitrl.softmax, lines)


def _posterior(decision: Decision, index: int) -> Derived:
    from engine import jitrl

    assert decision.update is not None
    z, action = decision.update.z_prime, decision.candidates[index].action
    left = [i for i, candidate in enumerate(decision.candidates) if candidate.action not in decision.vetoed]
    if index in left:
        lines = _softmax("z′", [z[i] for i in left], left.index(index), decision.posterior[index])
    else:
        lines = (f"'{action}' is vetoed: 0",)
    paper = "Eq. 9: π*(a|s) ∝ π_θ(a|s) exp(β A(s, a)), which is softmax(z′)"
    return Derived("π*", "probability now", f"{decision.posterior[index]:.1%}", paper, jitrl.softmax, lines)


def _softmax(name: str, logits: Sequence[float], index: int, share: float) -> tuple[str, ...]:
    """Return a probability as a fraction of powers of e, those beyond the first ones as one power."""
    own, first, rest = logits[index], list(logits[:MOST]), logits[MOST:]
    top = max(logits)
    if rest:
        first.append(top + log(sum(exp(z - top) for z in rest)))
    result, *powers = worked.write_result(
        share, (own, *first), lambda x: exp(x[0] - top) / sum(exp(z - top) for z in x[1:]), 4
    )
    terms = [f"e^{power}" for power in powers[1:]]
    if rest:
        terms[-1] += f" (the {len(rest)} others)"
    return (f"softmax({name}) = e^{powers[0]} / ({' + '.join(terms)}) = {result.lstrip('+')}",)


def _mean(name: str, value: float, numbers: Sequence[float]) -> str:
    """Return a mean with the numbers that it is of, those beyond the first ones as their sum."""
    count, first, rest = len(numbers), list(numbers[:MOST]), numbers[MOST:]
    if rest:
        first.append(sum(rest))
    result, *terms = worked.write_result(value, first, lambda x: sum(x) / count)
    if rest:
        terms[-1] += f" (the {len(rest)} others)"
    return f"{name} = ({' '.join(terms)}) / {count} = {result}"


def _neighbours(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return V and Q from nearest neighbours."""
    from engine import jitrl
    from engine.values.knn import KnnEstimator

    settings, near, seen = choice.settings, update.neighbours, explain.shown_values(update)
    how, value = update.valuation.how, seen.q[index]
    candidates, count = choice.decision.candidates, len(update.neighbours)
    gamma = settings.get("gamma")
    returns = [neighbour.g for neighbour in near]
    by_action = {n.action: [m.g for m in near if m.action == n.action] for n in near}
    mean = _mean("V̂", seen.v, returns)
    if settings.get("baseline") == "candidates" and set(how) != {jitrl.KNOWN}:
        known = {action: sum(g) / len(g) for action, g in by_action.items()}
        known.update({candidate.action: q for candidate, q in zip(candidates, seen.q, strict=True)})
        mean = f"of Q̂ of the neighbours' actions and the candidates: {_mean('V̂', seen.v, list(known.values()))}"
    if how[index] == jitrl.KNOWN:
        paper = "Eq. 5: the mean return of the neighbours that took it"
        line = _mean("Q̂", value, by_action.get(candidates[index].action, []))
    elif how[index] == jitrl.OPTIMISTIC:
        alpha = float(settings.get("alpha", 0.0))
        paper = "Eq. 6: mean G + α / |N(s)|, with probability λ, for an action that no neighbour took"
        result, g = worked.write_result(value, (value - alpha / count,), lambda x: x[0] + alpha / count)
        line = f"Q̂ = {g} + {alpha:g} / {count} = {result}"
    else:
        paper, line = "Sec. 4.2: 0 with probability 1 − λ, for an action that no neighbour took", "Q̂ = 0"
    discount = f" with γ = {gamma:g}" if isinstance(gamma, int | float) else ""
    return [
        Derived("N(s)", "neighbours of the state", f"{count}", "Algorithm 1, step 1; App. E, Eq. 24",
                KnnEstimator.neighbours, (f"{count} remembered steps, listed in the memory pane",)),
        Derived("G", "discounted returns", f"{count} numbers", "Eq. 3: the sum of γ^(u−t) r_u over the steps from t on",
                jitrl.discounted_returns, (f"of the neighbours{discount}: {_listed(returns)}",)),
        Derived("V̂", "state value", signed(seen.v), "Eq. 4: the mean return of the neighbours",
                jitrl.estimate_values, (mean,)),
        Derived("Q̂", "action value", signed(value), paper, jitrl.estimate_values, (line,)),
    ]  # fmt: skip


def _plan(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return V and Q from a plan, in the unit in which they are shown."""
    from engine.values.graph import GraphEstimator
    from engine.values.plans import Terms

    seen, prior = explain.shown_values(update), choice.decision.prior
    parts = explain.shown_terms(seen, index)
    lines = [f"Q̂ = {' '.join(parts) or '0'} = {signed(seen.q[index])} {hits.unit(seen)}"]
    if seen.left is not None:
        lines.append(
            f"the search counted {seen.total:.2f} points, and {seen.left:.2f} are left to gain: the plan counts as "
            f"these, and delay and risk as {seen.share:.3f} of theirs"
        )
    first = list(zip(prior, seen.q, strict=True))[:MOST]
    rest = sum(p * q for p, q in list(zip(prior, seen.q, strict=True))[MOST:])
    numbers = [x for pair in first for x in pair]
    result, *written_terms = worked.write_result(
        seen.v, [*numbers, rest], lambda x: sum(p * q for p, q in zip(x[:-1:2], x[1:-1:2], strict=True)) + x[-1]
    )
    terms = [f"{p.lstrip('+')}·({q})" for p, q in zip(written_terms[:-1:2], written_terms[1:-1:2], strict=True)]
    terms += [f"({written_terms[-1]}, of the {len(prior) - MOST} others)"] if len(prior) > MOST else []
    paper = "not in the paper: plans through memory. A plan counts as no more than what is left; that scales Â, not Ã"
    return [
        Derived("Q̂", "value of the plan", signed(seen.q[index]), paper, Terms.of, tuple(lines)),
        Derived("V̂", "state value", signed(seen.v), "not in the paper: the mean of Q̂ by the prior's probabilities",
                GraphEstimator.value, (f"V̂ = {' + '.join(terms)} = {result}",)),
    ]  # fmt: skip


def _update(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return the advantage, the normalised one, and the new logit."""
    from engine import jitrl

    seen, scaled, beta = explain.shown_values(update), update.advantage_normalised[index], update.beta
    q, v, a = worked.difference(seen.q[index], seen.v)
    others = explain.outside(choice.decision)
    normalised = worked.write_normalised(seen.advantage, index, choice.settings, others, seen.share, 3)
    z, by, z_prime = worked.write_sum(choice.decision.candidates[index].z, beta, scaled, update.z_prime[index])
    return [
        Derived("Â", "advantage", signed(seen.advantage[index]), "Eq. 7: Â(s, a) = Q̂(s, a) − V̂(s)", jitrl.advantages,
                (f"Â = {q} − ({v}) = {a}",)),
        Derived("Ã", "normalised advantage", signed(scaled, 3), "App. E, Eq. 25: Ã = Â / (max |Â| + ε)",
                jitrl.normalise, (normalised,)),
        Derived("z′", "new logit", signed(update.z_prime[index]), "Eq. 10: z′(s, a) = z(s, a) + β·Ã(s, a)",
                jitrl.update_logits, (f"z′ = {z} + {beta:g}·({by}) = {z_prime}",)),
    ]  # fmt: skip


def _choice(choice: Choice) -> Derived:
    """Return how the action was taken."""
    from engine import jitrl
    from engine.agents.static import StaticAgent

    decision = choice.decision
    said = hits.how_taken(choice) or decision.why
    if (selection := choice.settings.get("selection")) in ("greedy", "first"):
        paper = f"not in the paper, which samples: the highest logit is taken (selection={selection})"
        return Derived("a", "chosen action", decision.action, paper, StaticAgent.select, (said,))
    paper = "Algorithm 1, step 6: sample a ~ Softmax(z′)"
    return Derived("a", "chosen action", decision.action, paper, jitrl.sample, (said,))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join([signed(x) for x in numbers[:MOST]] + (["…"] if len(numbers) > MOST else []))


_SETTINGS = (
    "estimator", "gamma", "lam", "alpha", "baseline", "beta", "epsilon", "epsilon_times", "normalisation", "selection",
    "unremembered", "transform",
)  # fmt: skip
"""The settings that a decision is computed with."""


def fixture(choice: Choice) -> dict[str, Any]:
    """Return a decision as plain values: what went in, and what came out.

    Values, and the terms of Q, are those that the screen shows. Where they are scaled, so is epsilon.

    Raises:
        ValueError: The method of this choice has no update of the logits.
    """
    decision, update = choice.decision, choice.decision.update
    if update is None:
        raise ValueError("this choice has no update of the logits")
    value, seen = update.valuation, explain.shown_values(update)
    epsilon = float(choice.settings.get("epsilon", 0.0)) * float(choice.settings.get("epsilon_times", 1))
    return {
        "format": 2,
        "session": choice.started.session if choice.started is not None else "",
        "episode": choice.episode,
        "step": decision.step,
        "settings": {name: choice.settings[name] for name in _SETTINGS if name in choice.settings},
        "inputs": {
            "candidates": [
                {"action": c.action, "z": c.z, "source": c.source, "confidence": c.confidence, "logprob": c.logprob}
                for c in decision.candidates
            ],
            "neighbours": [_neighbour(neighbour) for neighbour in update.neighbours],
            "how": list(value.how),
            "unit": seen.unit,
            "terms": {name: list(values) for name, values in seen.terms.items()},
            "epsilon": epsilon * seen.share,
            "beta": update.beta,
            "draw": update.draw,
        },
        "outputs": {
            "v": seen.v,
            "q": list(seen.q),
            "n": list(value.n),
            "advantage": list(seen.advantage),
            "advantage_normalised": list(update.advantage_normalised),
            "z_prime": list(update.z_prime),
            "prior": list(decision.prior),
            "posterior": list(decision.posterior),
            "chosen": decision.chosen,
            "action": decision.action,
            "provenance": decision.provenance,
            "without_memory": update.without_memory,
        },
    }


def _neighbour(n: Neighbour) -> dict[str, Any]:
    return {"action": n.action, "g": n.g, "similarity": n.similarity, "episode": n.episode, "step": n.step,
            "ahead": n.ahead, "gain": n.gain, "expected": n.expected}  # fmt: skip
