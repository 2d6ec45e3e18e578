"""How each number of a decision comes about: its equation in the paper, the function that computes it, and the numbers.

Equations are numbered as in the paper's sources. Where functions are is looked up in the running code. A decision can
be exported with all that went in and came out, so that a test can compute it again (`fixture`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import explain
from engine.records import Candidate, Decision, Neighbour, Update
from jitrl_tui import hits
from jitrl_tui.view import Choice, signed

ROOT = Path(__file__).resolve().parents[1]
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


def derived(choice: Choice, index: int) -> list[Derived]:
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

    model = choice.started.model if choice.started is not None else ""
    value, code = signed(candidate.z), None
    paper, worked = "Sec. 5: the logits of the base model", (f"as the model gave it: {value}",)
    if hits.is_neutral(candidate):
        paper = "Algorithm 1, step 3; Eq. 23: an action that the model did not propose has the neutral logit 0"
        code, worked = jitrl.candidate_set, ("z = 0",)
    elif candidate.confidence is not None:
        code = logits.from_confidences
        paper = "Sec. 5, verbalized logit: the paper transforms confidences to logits and gives no formula"
        worked = (explain.logit(candidate, choice.settings, model) or worked[0],)
    elif candidate.logprob is not None:
        code = logits.from_logprobs
        paper = "Sec. 5, token-level logit: from the log-likelihood, shifted so that 0 is the mean"
        worked = (f"z = (ln p − mean ln p) / temperature, with ln p = {signed(candidate.logprob)}: {value}",)
    return Derived("z", "logit of the prior", value, paper, code, worked)


def _prior(decision: Decision, index: int) -> Derived:
    from engine import jitrl

    worked = _softmax("z", [candidate.z for candidate in decision.candidates], index, decision.prior[index])
    paper = "Sec. 4.3: π_θ(a|s) = softmax(z(s, a))"
    return Derived("π_θ", "probability by the prior", f"{decision.prior[index]:.1%}", paper, jitrl.softmax, worked)


def _posterior(decision: Decision, index: int) -> Derived:
    from engine import jitrl

    assert decision.update is not None
    worked = _softmax("z′", decision.update.z_prime, index, decision.posterior[index])
    paper = "Eq. 9: π*(a|s) ∝ π_θ(a|s) exp(β A(s, a)), which is softmax(z′)"
    return Derived("π*", "probability now", f"{decision.posterior[index]:.1%}", paper, jitrl.softmax, worked)


def _softmax(name: str, logits: Sequence[float], index: int, share: float) -> tuple[str, ...]:
    terms = " + ".join(f"e^{signed(z)}" for z in logits[:MOST]) + (" + …" if len(logits) > MOST else "")
    return (f"softmax({name}) = e^{signed(logits[index])} / ({terms}) = {share:.4f}",)


def _neighbours(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return V and Q from nearest neighbours."""
    from engine import jitrl
    from engine.values.knn import KnnEstimator

    settings, value, near = choice.settings, update.valuation, update.neighbours
    action, count = choice.decision.candidates[index].action, len(update.neighbours)
    gamma = settings.get("gamma")
    returns = [neighbour.g for neighbour in near]
    mean = f"V̂ = ({_sum(returns)}) / {count} = {signed(value.v)}"
    if settings.get("baseline") == "candidates" and set(value.how) != {jitrl.KNOWN}:
        mean = f"V̂ = mean of Q̂ over the neighbours' actions and the candidates = {signed(value.v)}"
    own = [neighbour.g for neighbour in near if neighbour.action == action]
    q = signed(value.q[index])
    if value.how[index] == jitrl.KNOWN:
        paper, worked = "Eq. 5: the mean return of the neighbours that took it", f"Q̂ = ({_sum(own)}) / {len(own)} = {q}"
    elif value.how[index] == jitrl.OPTIMISTIC:
        alpha = settings.get("alpha", "α")
        paper = "Eq. 6: V̂ + α / |N(s)|, with probability λ, for an action that no neighbour took"
        worked = f"Q̂ = {signed(value.v)} + {alpha} / {count} = {q}"
    else:
        paper, worked = "Sec. 4.2: 0 with probability 1 − λ, for an action that no neighbour took", "Q̂ = 0"
    discount = f" with γ = {gamma:g}" if isinstance(gamma, int | float) else ""
    return [
        Derived("N(s)", "neighbours of the state", f"{count}", "Algorithm 1, step 1; App. E, Eq. 24",
                KnnEstimator.neighbours, (f"{count} remembered steps, listed in the memory pane",)),
        Derived("G", "discounted returns", f"{count} numbers", "Eq. 3: the sum of γ^(u−t) r_u over the steps from t on",
                jitrl.discounted_returns, (f"of the neighbours{discount}: {_listed(returns)}",)),
        Derived("V̂", "state value", signed(value.v), "Eq. 4: the mean return of the neighbours",
                jitrl.estimate_values, (mean,)),
        Derived("Q̂", "action value", q, paper, jitrl.estimate_values, (worked,)),
    ]  # fmt: skip


def _plan(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return V and Q from a plan: as the estimator has them, and as they are shown."""
    from engine.values.graph import GraphEstimator
    from engine.values.plans import Terms

    value, seen = update.valuation, hits.shown(update)
    prior, q = choice.decision.prior, value.q[index]
    sums = " ".join(f"{name} {signed(values[index])}" for name, values in value.terms.items())
    v = " + ".join(f"{p:.2f}·({signed(x)})" for p, x in list(zip(prior, value.q, strict=True))[:MOST])
    found = [
        Derived("Q̂", "value of the plan", signed(q), "not in the paper: plans through memory",
                Terms.of, (f"Q̂ = {sums} = {signed(q)}",)),
        Derived("V̂", "state value", signed(value.v), "not in the paper: the mean of Q̂ by the prior's probabilities",
                GraphEstimator.value, (f"V̂ = {v}{' + …' if len(prior) > MOST else ''} = {signed(value.v)}",)),
    ]  # fmt: skip
    if seen.left is not None:
        share = seen.left / seen.total
        lines = tuple(
            f"{name} = {signed(seen.left)} + {share:.3f}·({signed(raw)} − {signed(seen.total)}) = {signed(points)}"
            for name, raw, points in (("Q̂", q, seen.q[index]), ("V̂", value.v, seen.v))
        )
        paper = "not in the paper: the plan counts as no more than what is left to gain. It scales Â, and Ã stays"
        found.append(Derived("Q̂", "on the screen, in points", signed(seen.q[index]), paper, explain.shown, lines))
    return found


def _update(choice: Choice, update: Update, index: int) -> list[Derived]:
    """Return the advantage, the normalised one, and the new logit."""
    from engine import jitrl

    beta = update.beta
    seen, scaled = hits.shown(update), update.advantage_normalised[index]
    a = seen.advantage[index]
    q, v, makes = explain.difference(seen.q[index], seen.v, a)
    z, z_prime = choice.decision.candidates[index].z, update.z_prime[index]
    largest, name = hits.divisor(choice)
    return [
        Derived("Â", "advantage", signed(a), "Eq. 7: Â(s, a) = Q̂(s, a) − V̂(s)", jitrl.advantages,
                (f"Â = {q} − ({v}) = {makes}",)),
        Derived("Ã", "normalised advantage", signed(scaled, 3), "App. E, Eq. 25: Ã = Â / (max |Â| + ε)",
                jitrl.normalise, (f"Ã = Â / {name} = {signed(a, 4)} / {largest:.4f} = {signed(scaled, 3)}",)),
        Derived("z′", "new logit", signed(z_prime), "Eq. 10: z′(s, a) = z(s, a) + β·Ã(s, a)", jitrl.update_logits,
                (f"z′ = {signed(z)} + {beta:g}·({signed(scaled, 4)}) = {signed(z_prime)}",)),
    ]  # fmt: skip


def _choice(choice: Choice) -> Derived:
    """Return how the action was taken."""
    from engine import jitrl
    from engine.agents.static import StaticAgent

    decision = choice.decision
    said = hits.taken(choice) or decision.why
    if (selection := choice.settings.get("selection")) in ("greedy", "first"):
        paper = f"not in the paper, which samples: the highest logit is taken (selection={selection})"
        return Derived("a", "chosen action", decision.action, paper, StaticAgent.select, (said,))
    paper = "Algorithm 1, step 6: sample a ~ Softmax(z′)"
    return Derived("a", "chosen action", decision.action, paper, jitrl.sample, (said,))


def _sum(numbers: Sequence[float]) -> str:
    return " ".join([signed(x) for x in numbers[:MOST]] + (["…"] if len(numbers) > MOST else []))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join([signed(x) for x in numbers[:MOST]] + (["…"] if len(numbers) > MOST else []))


_SETTINGS = (
    "estimator", "gamma", "lam", "alpha", "baseline", "beta", "epsilon", "epsilon_times", "normalisation", "selection",
    "unremembered", "transform",
)  # fmt: skip
"""The settings that a decision is computed with."""


def fixture(choice: Choice) -> dict[str, Any]:
    """Return a decision as plain values: what went in, and what came out.

    Raises:
        ValueError: The method of this choice has no update of the logits.
    """
    decision, update = choice.decision, choice.decision.update
    if update is None:
        raise ValueError("this choice has no update of the logits")
    value = update.valuation
    return {
        "format": 1,
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
            "terms": {name: list(values) for name, values in value.terms.items()},
            "beta": update.beta,
            "draw": update.draw,
        },
        "outputs": {
            "v": value.v,
            "q": list(value.q),
            "n": list(value.n),
            "advantage": list(update.advantage),
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
