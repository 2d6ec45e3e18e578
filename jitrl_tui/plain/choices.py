"""A decision as labelled lines, which can be read aloud."""

from __future__ import annotations

from engine import explain, worked
from engine.records import Decision, Update
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, percents, signed


def candidate_lines(choice: Choice) -> list[str]:
    """Return a line about the source of values, and a line for each candidate that can be read aloud."""
    decision = choice.decision
    update, columns = decision.update, hits.columns(decision)
    lines = [hits.without_values(choice)]
    if update is not None and not hits.says_nothing(update):
        seen = explain.shown(update)
        lines = [f"V {signed(seen.v)} {hits.unit(seen)}, {hits.source(update)}, beta {update.beta:g}."]
    for i in hits.ordered(decision):
        candidate = decision.candidates[i]
        opinion = ""
        if candidate.confidence is not None:
            opinion = f"confidence {candidate.confidence:.0f}, "
        elif candidate.logprob is not None:
            opinion = f"log-likelihood {signed(candidate.logprob)}, "
        logit = f"logit {signed(candidate.z)}{f' to {signed(update.z_prime[i])}' if update else ''}"
        own = "".join(f"{name} {signed(values[i])}, " for name, values in columns)
        lines.append(
            f"{candidate.action}: from {candidate.source}, {opinion}{logit}, "
            f"{_values(update, i)}{own}{_probability(decision, i)}{_sign(decision, i)}"
        )
    return lines


def _values(update: Update | None, i: int) -> str:
    """Return what memory says of a candidate, "" for nothing."""
    if update is None or update.valuation.how[i] == "prior":
        return ""
    seen, how = explain.shown(update), update.valuation.how[i]
    known = "" if how == "known" else f" ({how})"
    count = hits.tried(*explain.tried(update, i))
    return (
        f"N {count}{known}, Q {signed(seen.q[i])}, advantage {signed(seen.advantage[i])}, "
        f"scaled {signed(update.advantage_normalised[i], worked.places_beside(update.beta))}, "
    )


def _probability(decision: Decision, i: int) -> str:
    before, after = decision.prior[i], decision.posterior[i]
    if decision.update is None and decision.prior == decision.posterior:
        return f"probability {after:.0%}"
    change = percents(before, after)
    moved = "up" if change > 0 else "down" if change < 0 else "same"
    return f"probability {before:.0%} to {after:.0%}, {moved}"


def _sign(decision: Decision, i: int) -> str:
    if i == decision.chosen:
        return ", chosen"
    update = decision.update
    taken = update is not None and decision.candidates[i].action == update.without_memory
    return ", what the prior alone takes" if taken else ""
