"""Explains a decision in one sentence, and puts its values into one unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from engine import worked
from engine.records import Candidate, Decision, Neighbour, Update, Valuation
from engine.worked import number

_METHODS = {
    "graph": ("values: plans through memory", "plans"),
    "knn": ("values: nearest neighbours, the paper's", "neighbours"),
}

POINTS, NOVELTY, RETURN = "points", "novelty", "return G"
"""Units of values: points of the environment, a rank of what was done least, discounted returns (Eq. 3)."""

EXPECTED, HOPED, SPARE = "expected", "hoped", "spare"
TERMS = {"gain": EXPECTED, "discovery": HOPED, "delay": "delay", "risk": "risk"}
"""The terms of Q from plans, and what they are called on screens, where `SPARE` is apart from `HOPED`."""

SAMPLED, GREEDY, NAMED = "sample", "greedy", "named"
"""How an action is taken: drawn from the policy, the most probable one, or the one that the model named the best."""

NEUTRAL = ("memory", "valid", "random")
"""Sources of candidates that the model said nothing about: their logit is the neutral 0 (Algorithm 1, step 3)."""

MEMORYLESS = ("static", "random")
"""Agents of this project that remember nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Values as they are shown. V, Q, A and the terms have one unit, and Q is the sum of its terms.

    Attributes:
        unit: `POINTS`, `NOVELTY` or `RETURN`.
        terms: The terms of Q by the names that screens use.
        total: What the plan is worth to the decision, before the cut; 0 if there is none.
        left: What it was cut to, the points that are left to gain; None if nothing was cut.
        share: The factor by which the cut has scaled A, and delay and risk with it; 1 if nothing was cut.
    """

    unit: str
    v: float
    q: tuple[float, ...]
    advantage: tuple[float, ...]
    terms: Mapping[str, tuple[float, ...]]
    total: float = 0.0
    left: float | None = None
    share: float = 1.0


def knows(update: Update | None) -> TypeGuard[Update]:
    """Return whether memory, or what was done in this episode, gave a decision its values."""
    return update is not None and not set(update.valuation.how) <= {"prior"}


def shown_values(update: Update) -> Shown:
    """Return the values of a decision as they are shown: on screens, in lines, as JSON, in files.

    What a plan hopes from untried actions is optimistic, so that it is tried: it may be more than there is to gain.
    Then the whole value of the plan is shown as the points that are left. Delay and risk, which are shares of that
    value, shrink in proportion. So do advantages, and normalised advantages are the same as before.
    """
    return in_one_unit(update.valuation, update.advantage)


def in_one_unit(valuation: Valuation, advantage: Sequence[float]) -> Shown:
    """Return values and advantages as `shown_values` does, for a decision that is being made."""
    v, q, a = valuation.v, valuation.q, tuple(advantage)
    if not valuation.terms:
        return Shown(RETURN, v, q, a, {})
    first, plan = first_of_plan(valuation), valuation.plan
    left, spare = (plan.left, plan.spare) if plan is not None else (None, 0.0)
    terms = {TERMS.get(name, name): values for name, values in valuation.terms.items()}
    if spare and HOPED in terms:
        terms[HOPED] = tuple(x - spare for x in terms[HOPED])
        terms[SPARE] = (spare,) * len(q)
    if first < 0 or (left is not None and left <= 0.0):
        return Shown(NOVELTY, v, q, a, terms)
    gain, hope = (valuation.terms.get(name, (0.0,) * len(q)) for name in ("gain", "discovery"))
    total = gain[first] + hope[first]
    if left is None or total <= left:
        return Shown(POINTS, v, q, a, terms, total)
    share, kept = left / total, min(gain[first], left)
    idle = (left - kept) * spare / hope[first] if hope[first] > 0.0 else 0.0
    capped = {EXPECTED: kept, HOPED: left - kept - idle, SPARE: idle}
    scaled = {TERMS[name]: tuple(share * x for x in valuation.terms.get(name, ())) for name in ("delay", "risk")}
    terms = {**{name: (points,) * len(q) for name, points in capped.items()}, **scaled}
    return Shown(
        POINTS,
        left + share * (v - total),
        tuple(left + share * (x - total) for x in q),
        tuple(share * x for x in a),
        terms,
        total,
        left,
        share,
    )


def outside(decision: Decision) -> list[float]:
    """Return A of the neighbours' actions that are no candidates, by their mean return; [] for plans."""
    from engine import jitrl

    update = decision.update
    if update is None or update.valuation.terms:
        return []
    named = {candidate.action for candidate in decision.candidates}
    means = jitrl.mean_returns([n.action for n in update.neighbours], [n.g for n in update.neighbours])
    return [mean - update.valuation.v for action, mean in means.items() if action not in named]


def shown_terms(seen: Shown, index: int) -> list[str]:
    """Return the terms of a candidate's Q with their names, written so that they add up to it; none that is 0."""
    terms = {name: values[index] for name, values in seen.terms.items() if values[index]}
    _, *amounts = worked.sum_of(seen.q[index], list(terms.values()))
    return [f"{name} {amount}" for name, amount in zip(terms, amounts, strict=True) if float(amount[1:])]


def try_counts(update: Update, index: int) -> tuple[int, int]:
    """Return how often a candidate was tried here in what is remembered, and in the running episode."""
    n, plan = update.valuation.n[index], update.valuation.plan
    here = plan.now[index] if plan is not None and index < len(plan.now) else 0
    return n - here, here


def explores(valuation: Valuation) -> bool:
    """Return whether values come from the running episode alone, because nothing is remembered yet."""
    return valuation.plan is not None and not valuation.plan.remembered


def why(
    chosen: int,
    candidates: Sequence[Candidate],
    valuation: Valuation,
    neighbours: Sequence[Neighbour],
    advantage: Sequence[float],
    without_memory: str,
    *,
    preferred: bool = True,
    taken: str = GREEDY,
) -> str:
    """Return why `candidates[chosen]` was chosen, as one sentence for people.

    Args:
        preferred: Whether no other candidate was more probable.
        taken: How it was taken from the policy: `SAMPLED`, `GREEDY` or `NAMED`.
    """
    from engine import jitrl  # not at the top: screens import this module before they need numpy

    action, how, n = candidates[chosen].action, valuation.how[chosen], len(neighbours)
    q, v, a = worked.difference(valuation.q[chosen], valuation.v)
    if how == jitrl.PRIOR:
        return f"Nothing like this state was remembered. {by_the_model(chosen, candidates, taken, alone=' alone')}"
    if valuation.terms:
        return _planned(chosen, candidates, valuation, without_memory, preferred=preferred)
    visits = f"{n} similar visit{'s' if n != 1 else ''}"
    if how == jitrl.KNOWN:
        took = valuation.n[chosen]
        sentence = (
            f"'{action}' was tried in {took} of {visits}{_elsewhere(action, neighbours)} and "
            f"returned G = {q} on average, against V = {v}: {a}"
        )
    elif how == jitrl.OPTIMISTIC:
        sentence = f"'{action}' was never tried in {visits}: benefit of the doubt, Q = {q} against V = {v}"
    else:
        sentence = (
            f"'{action}' was never tried in {visits} and the draw gave it no bonus (Q = 0 against V = {v})"
        )
    if not preferred:
        sentence = f"The draw decided, another action was more probable: {sentence}"
    if not without_memory:
        return f"{sentence}; the model gave no usable answer."
    if without_memory != action:
        return f"{sentence}; without memory it would have been '{without_memory}'."
    return f"{sentence}; without memory the choice would have been the same."


def by_the_model(chosen: int, candidates: Sequence[Candidate], taken: str = GREEDY, alone: str = "") -> str:
    """Return why `candidates[chosen]` was chosen where nothing was added to the model's logits.

    Args:
        taken: As in `why`.
        alone: " alone" where the model read nothing that is remembered either.
    """
    action, z = candidates[chosen].action, [candidate.z for candidate in candidates]
    if candidates[chosen].source == "random":
        return f"The model had nothing to offer here: '{action}' was drawn from the valid actions."
    if taken == NAMED:
        return f"The model named '{action}' the best."
    if len(candidates) > 1 and len(set(z)) == 1:
        return f"Nothing speaks for one candidate more than for another: '{action}' was drawn."
    if taken == SAMPLED and len(candidates) > 1:
        return f"'{action}' was drawn, with the probabilities that the model's opinion gives to the candidates."
    if z.count(max(z)) > 1:
        return f"The model rates {z.count(max(z))} candidates alike and the highest: '{action}' was drawn among them."
    if candidates[chosen].source in NEUTRAL:
        return f"The model rates what it proposed lower than the neutral logit 0: '{action}', of which it said nothing."
    return f"The model's opinion{alone} decided: '{action}'."


def _elsewhere(action: str, neighbours: Sequence[Neighbour]) -> str:
    """Return, in brackets, how often and as which action it was taken for another task; "" if never."""
    taken = [n.taken for n in neighbours if n.action == action and n.taken]
    if not taken:
        return ""
    most = max(dict.fromkeys(taken), key=taken.count)
    return f" ({len(taken)} for another task, as '{most}')"


def first_of_plan(valuation: Valuation) -> int:
    """Return the index of the candidate that the plan begins with; -1 if there is none.

    It is the only candidate without a delay: any other first action postpones the plan.
    """
    if valuation.plan is not None and not valuation.plan.steps:
        return -1
    at_once = [i for i, delay in enumerate(valuation.terms.get("delay", ())) if delay >= 0]
    return at_once[0] if len(at_once) == 1 else -1


def _planned(
    chosen: int,
    candidates: Sequence[Candidate],
    valuation: Valuation,
    without_memory: str,
    *,
    preferred: bool,
) -> str:
    """Return why an action with a value from a plan was chosen: the parts of its value, and what it beat."""
    action, first = candidates[chosen].action, first_of_plan(valuation)
    seen = in_one_unit(valuation, (0.0,) * len(candidates))
    parts = shown_terms(seen, chosen)
    how = f"tried here {valuation.n[chosen]}×" if valuation.n[chosen] else "never tried here"
    if chosen == first and explores(valuation):
        sentence = (
            f"Nothing was remembered yet, so exploration within this episode decided: it begins with '{action}' ({how})"
        )
    elif chosen == first:
        sentence = f"The best plan found for the steps left begins with '{action}' ({how})"
    elif first >= 0:
        other, took = candidates[first].action, "chosen" if preferred else "drawn"
        sentence = f"'{action}' ({how}) was {took}, though the best plan found begins with '{other}'"
    else:
        sentence = f"No plan promises anything from here, and '{action}' ({how}) may show something yet"
    sentence += f": Q = {' '.join(parts) or '0'} {seen.unit}, against V = {number(seen.v)}"
    if not without_memory:
        return f"{sentence}; the model gave no usable answer."
    if without_memory != action:
        return f"{sentence}; the prior alone would have taken '{without_memory}'."
    return f"{sentence}; the prior alone would have taken it, too."


def method(settings: Mapping[str, Any], agent: str = "jitrl") -> str:
    """Return in a few words where an agent's values come from; "" if the settings do not say."""
    return _method(settings, agent)[0]


def method_in_short(settings: Mapping[str, Any], agent: str = "jitrl") -> str:
    """Return the same as `method` in one or two words."""
    return _method(settings, agent)[1]


def _method(settings: Mapping[str, Any], agent: str) -> tuple[str, str]:
    if agent in MEMORYLESS:
        return "no memory", "no memory"
    if agent != "jitrl":
        return "", ""
    name = str(settings.get("estimator", ""))
    return _METHODS.get(name, (f"values: {name}" if name else "", name))


def how_drawn(decision: Decision, settings: Mapping[str, Any]) -> str:
    """Return how the action was taken from the policy: sampled or greedy, with the draw; "" if nobody knows.

    Args:
        settings: Settings of the run.
    """
    i, policy, update = decision.chosen, decision.posterior, decision.update
    selection = settings.get("selection")
    if decision.provenance != "agent" or i < 0 or decision.vetoed or selection is None:
        return ""
    remembered = knows(update)
    if settings.get("unremembered") == "best_action" and not remembered:
        return ""  # the action that the model named as best need not have its highest probability
    draw = "" if update is None or update.draw is None else f" {update.draw:.2f}"
    if selection != "sample":
        name, logits = ("z′", update.z_prime) if update is not None else ("z", [c.z for c in decision.candidates])
        even = sum(z >= max(logits) - 1e-12 for z in logits)
        if even > 1 and selection == "first":
            return f"Greedy: {even} candidates share the highest {name}; the first of them is taken."
        if even > 1:
            return f"Greedy: {even} candidates share the highest {name}; the draw{draw} fell on '{decision.action}'."
        return f"Greedy: the candidate with the highest {name} is taken."
    said = f"Sampled: the draw{draw} fell on '{decision.action}' ({policy[i]:.0%})"
    top = max(range(len(policy)), key=policy.__getitem__)
    if policy[i] >= policy[top]:
        return f"{said}, the most probable one."
    return f"{said}; '{decision.candidates[top].action}' had {policy[top]:.0%}."


def overrule(decision: Decision, action: str) -> Decision:
    """Return the decision with a person's action instead of the agent's."""
    actions = [candidate.action for candidate in decision.candidates]
    besides = ", as the agent would" if action == decision.action else f" instead of '{decision.action}'"
    parts = tuple(
        dataclasses.replace(part, without_memory="", equation="") if isinstance(part, Update) else part
        for part in decision.parts
    )
    return dataclasses.replace(
        decision,
        chosen=actions.index(action) if action in actions else -1,
        action=action,
        provenance="human",
        why=f"You chose '{action}'{besides}; memory will learn from it as yours.",
        parts=parts,
        by="person",
        reason="chosen instead" if action in (*actions, *decision.possible) else "typed",
    )


def credit(decision: Decision) -> str:
    """Return in a sentence who let a decision be carried out, how, and what is vetoed; "" if nobody was asked."""
    who = {"person": "By you: ", "rule": "By what you ordered before: "}.get(decision.by, "")
    said = f"{who}{decision.reason}" if decision.reason else ""
    names = ", ".join(f"'{action}'" for action in decision.vetoed)
    both = [said, f"vetoed here: {names}" if names and said != f"{who}vetoed {names}" else ""]
    text = "; ".join(filter(None, both))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def credit_in_short(decision: Decision | None, provenance: str) -> str:
    """Return the same for a command that was carried out, in a few words; "" if nobody was asked."""
    if provenance == "human":
        return "you"
    return decision.reason.partition(" at breakpoint ")[0] if decision is not None else ""
