"""Texts about the basis of a choice, and hints at it, for the screen and for plain lines."""

from __future__ import annotations

from collections.abc import Sequence

from engine import explain, worked
from engine.records import Basis, Candidate, Decision, Neighbour, Update
from jitrl_tui.runs.view import Choice, signed, signed_points, steps
from jitrl_tui.system.output import one_line

REPEATED = "The plan repeats these remembered steps"
KNOWN = "The plan goes through these steps (this: the running episode)"
ALSO = "Also done in this place before"
EMPTY = "Memory was empty. It fills at the end of each episode."
EXPLORES = "Nothing was remembered yet: exploration within the episode decided."
ORIGINS = 6
"""Largest number of origins in a line."""
TRIES = 3
"""Largest number of untried actions named in a line."""


def repeated_steps(decision: Decision) -> tuple[Neighbour, ...]:
    """Return the remembered steps that the plan repeats, in order; () if values come from neighbours."""
    update = decision.update
    if update is None:
        return ()
    first = explain.first_of_plan(update.valuation)
    action = decision.candidates[first].action if first >= 0 else ""
    found: list[Neighbour] = []
    for hit in update.neighbours:
        before = found[-1].ahead if found else -1
        if hit.ahead <= before or (hit.ahead == 0 and hit.action != action):
            break
        found.append(hit)
    return tuple(found)


def plan_heading(plan: tuple[Neighbour, ...]) -> str:
    """Return the line above the steps of a plan."""
    return REPEATED if all(hit.episode > 0 for hit in plan) else KNOWN


def try_count(remembered: int, now: int) -> str:
    """Return how often an action was tried: in memory, then in the running episode if it was tried there."""
    return f"{remembered}+{now}" if now else str(remembered)


def logit(choice: Choice, candidate: Candidate) -> str:
    """Return the calculation that made a candidate's logit of what the model said; "" if it is not known."""
    started = choice.started
    model, reading = (started.model, started.reading) if started is not None else ("", "")
    return worked.logit(candidate, choice.decision, choice.settings, model, reading)


def is_neutral(candidate: Candidate) -> bool:
    """Return whether the model gave no opinion on a candidate, so that its logit is the neutral 0."""
    return candidate.source in explain.NEUTRAL and not candidate.z


def account(decision: Decision) -> list[tuple[str, str, str]]:
    """Return what the value of a plan is made of: an amount in points, what it is, and a remark.

    The first is the whole value, the others add up to it. It is empty for values that are not of a plan.
    """
    update = decision.update
    plan = update.valuation.plan if update is not None else None
    if update is None or plan is None:
        return []
    seen, first = explain.shown_values(update), explain.first_of_plan(update.valuation)
    if seen.unit != explain.POINTS or first < 0:
        return []
    expected, hoped, spare = (seen.terms.get(name, (0.0,) * len(seen.q))[first]
                              for name in (explain.EXPECTED, explain.HOPED, explain.SPARE))  # fmt: skip
    plan_steps = repeated_steps(decision)
    listed = sum(hit.expected for hit in plan_steps)
    rows = [(listed, "expected of these steps", "")] if plan_steps else []
    gain = update.valuation.terms.get("gain", seen.q)[first]  # before the plan is cut to what is left
    rows.append((gain - listed, "for danger and doubt", "earlier plans kept more or less than they promised"))
    rows.append((expected - gain, "taken off: more than is left to gain", ""))
    rows.append((hoped, "hoped from untried actions", _named(plan.tries)))
    rows.append((spare, "for steps left over", ""))
    whole, *amounts = worked.sum_of(seen.q[first], [amount for amount, _, _ in rows])
    lines = [(amount, what, remark) for amount, (_, what, remark) in zip(amounts, rows, strict=True)
             if float(amount[1:])]  # fmt: skip
    remark = ""
    if seen.left is not None:
        remark = f"all that is left to gain (the search counted {seen.total:.1f})"
    return [(whole, f"points, Q̂ of '{decision.candidates[first].action}'", remark), *lines]


def expected_points(plan: Sequence[Neighbour]) -> list[str]:
    """Return the points that are expected of each step of a plan, written so that they add up; "" for none."""
    _, *each = worked.sum_of(sum(hit.expected for hit in plan), [hit.expected for hit in plan])
    return [text if hit.expected else "" for hit, text in zip(plan, each, strict=True)]


def _named(tries: tuple[str, ...]) -> str:
    more = f" and {len(tries) - TRIES} more" if len(tries) > TRIES else ""
    return ", ".join(tries[:TRIES]) + more


def how_taken(choice: Choice) -> str:
    """Return how an action was taken from the policy, "" where there is no policy or nobody knows."""
    return "" if choice.agent in ("random", "human") else explain.how_drawn(choice.decision, choice.settings)


def unit(seen: explain.Shown) -> str:
    """Return what a value is measured in, for the line above the candidates."""
    return {explain.POINTS: "points", explain.NOVELTY: "novelty, no points"}.get(seen.unit, "return G")


def display_order(decision: Decision) -> list[int]:
    """Return the candidates in the order of display: the chosen one, the one of the prior alone, then the others."""
    others = range(len(decision.candidates))
    without = decision.update.without_memory if decision.update is not None else ""
    taken = [c.action == without for c in decision.candidates]
    return sorted(others, key=lambda index: (index != decision.chosen, not taken[index]))


def says_nothing(update: Update | None) -> bool:
    """Return whether a choice has no values: there is no update of the logits, or nothing remembered for it."""
    return not explain.knows(update)


def columns(decision: Decision) -> list[tuple[str, tuple[float, ...]]]:
    """Return the additional columns of a method by name. Columns of a wrong length are left out."""
    named = [(name, values) for basis in decision.bases for name, values in basis.columns.items()]
    return [(name, values) for name, values in named if len(values) == len(decision.candidates)]


def texts(decision: Decision) -> list[Basis]:
    """Return the bases of a choice that have texts."""
    return [basis for basis in decision.bases if basis.items]


def rests_on(basis: Basis) -> str:
    """Return a line about the texts that a choice is based on."""
    origins = list(dict.fromkeys(item.origin for item in basis.items if item.origin))
    more = f" and {len(origins) - ORIGINS} more" if len(origins) > ORIGINS else ""
    sources = f" ({'; '.join(origins[:ORIGINS])}{more})" if origins else ""
    return f"Rests on: {basis.title}{sources}."


def source(update: Update) -> str:
    """Return the source of values in a few words."""
    count = len(update.neighbours)
    if explain.explores(update.valuation):
        return "exploration within this episode"
    return (
        "plans through memory"
        if update.valuation.terms
        else f"{count} similar visit{'s' if count != 1 else ''}"
    )


def without_values(choice: Choice) -> str:
    """Return a sentence about how an action is chosen without values from memory."""
    if any(candidate.source == "random" for candidate in choice.decision.candidates):
        return "No usable answer, nothing remembered: drawn at random."
    if choice.agent == "random":
        return "No memory, no model: drawn at random."
    if choice.agent == "human":
        return "No memory, no model: the recording decides."
    if choice.agent in explain.MEMORYLESS:
        return f"No memory: {_by_the_model(choice, ' alone')}."
    if bases := texts(choice.decision):
        return f"{_by_the_model(choice).capitalize()}. {' '.join(map(rests_on, bases))}"
    if choice.decision.update is None:
        return f"Nothing kept bears on this choice: {_by_the_model(choice, ' alone')}."
    if choice.settings.get("estimator") == "graph":
        return f"Nothing to plan with yet: {_by_the_model(choice, ' alone')}."
    lacks = f" ({nearest_lacks(choice)})" if nearest_lacks(choice) else " remembered"
    return f"Nothing similar{lacks}: {_by_the_model(choice, ' alone')}."


def _by_the_model(choice: Choice, alone: str = "") -> str:
    """Return how a choice is made where nothing is added to the model's logits."""
    settings, count = choice.settings, len(choice.decision.candidates)
    by_draw = settings.get("selection") == explain.SAMPLED and settings.get("unremembered") != "best_action"
    return "drawn by the model's odds" if by_draw and count > 1 else f"the model{alone} decides"


def why_nothing(choice: Choice, entries: int) -> str:
    """Return the reason why no remembered steps, or no steps of a plan, are shown.

    Args:
        entries: Number of steps remembered now, for choices that do not have this number.
    """
    update = choice.decision.update
    entries = entries if choice.remembered is None else choice.remembered
    count = f"{steps(entries)} {'was' if entries == 1 else 'were'} remembered"  # by now it may be more
    if choice.agent in explain.MEMORYLESS:
        return "This agent has no memory."
    if update is None:
        return "Nothing kept bears on this choice."
    if update.valuation.terms and explain.first_of_plan(update.valuation) < 0:
        if not entries:
            return f"{EXPLORES} What was done least may show something yet."
        return f"No plan promises anything from here: what was done least may show something yet. {count}."
    if update.valuation.terms and not entries:
        return EXPLORES
    if update.valuation.terms:
        return f"The plan repeats nothing that is known: it tries something new. {count}."
    if not entries:
        return EMPTY
    if choice.settings.get("estimator") == "graph":
        return f"Nothing that was remembered bears on this choice ({count})."
    lacks = f": {nearest_lacks(choice)}" if nearest_lacks(choice) else ""
    return f"No remembered state was similar enough{lacks} ({count})."


def nearest_lacks(choice: Choice) -> str:
    """Return what the most similar remembered step lacks to be a neighbour; "" if that was not looked for."""
    near = choice.nearest
    if near is None:
        return ""
    best, needs = worked.apart(near.step.similarity if near.step is not None else 0.0, near.needs)
    return f"best {best}, needs {needs}"


def could_be_near(choice: Choice, entries: int) -> bool:
    """Return whether there were remembered steps, none of which was similar enough.

    Args:
        entries: As of `why_nothing`.
    """
    update, remembered = choice.decision.update, entries if choice.remembered is None else choice.remembered
    neighbours = choice.settings.get("estimator") == "knn"
    return bool(neighbours and remembered and update is not None and not update.neighbours)


def ahead(neighbour: Neighbour) -> str:
    """Return a text about how many steps from now the plan repeats this step."""
    return str(neighbour.ahead) if neighbour.ahead > 0 else "now"


def gain(neighbour: Neighbour) -> str:
    """Return the points that the environment gave for a step, "" for none."""
    return signed_points(neighbour.gain) if neighbour.gain else ""


def basis_lines(choice: Choice, entries: int) -> list[str]:
    """Return the basis of a choice, with a line for each remembered step and each text."""
    decision = choice.decision
    lines = [line for basis in texts(decision) for line in _basis(basis)]
    if lines and decision.update is None:
        return lines
    return [*_remembered(choice, entries), *lines]


def _basis(basis: Basis) -> list[str]:
    """Return a title, and a line for each text."""
    lines = [f"{basis.title}:"]
    for item in basis.items:
        weight = "" if item.weight is None else f", weight {signed(item.weight)}"
        origin = item.origin or "of unknown origin"
        lines.append(f"{origin}{weight}: {' '.join(item.text.split())}")
    return lines


def _remembered(choice: Choice, entries: int) -> list[str]:
    hits = choice.decision.update.neighbours if choice.decision.update is not None else ()
    if not hits:
        return [why_nothing(choice, entries), *_accounted(choice.decision)]
    if hits[0].ahead < 0:
        return [_neighbour(hit) for hit in hits]
    plan = repeated_steps(choice.decision)
    head = f"{plan_heading(plan)}:" if plan else why_nothing(choice, entries)
    lines = [head, *map(_planned, plan, expected_points(plan))]
    others = hits[len(plan) :]
    return [*lines, *_accounted(choice.decision), *([f"{ALSO}:"] if others else []), *map(_done, others)]


def _accounted(decision: Decision) -> list[str]:
    return [f"{amount} {what}{f': {remark}' if remark else ''}" for amount, what, remark in account(decision)]


def _neighbour(n: Neighbour) -> str:
    taken = f", taken as {n.taken} for another task" if n.taken else ""
    return f"similarity {n.similarity:.2f}, {n.action}, return {signed(n.g)}, {_where(n)}{taken}"


def _planned(n: Neighbour, expected: str) -> str:
    due = f", {expected} expected" if expected else ""
    return f"{f'in {steps(n.ahead)}' if n.ahead else 'now'}, {_done(n)}{due}"


def _done(n: Neighbour) -> str:
    gained = f", gained {gain(n)}" if n.gain else ""
    return f"{n.action}{gained}, {_where(n)}"


def _where(n: Neighbour) -> str:
    return f"{f'episode {n.episode}' if n.episode else 'this episode'} step {n.step + 1}, by {n.provenance}"


NOTHING_YET = "There is no hint yet: the agent has not decided."


class Hints:
    """Hints for one decision after the other."""

    def __init__(self) -> None:
        self._of: Choice | None = None
        self._given = 0

    def next(self, choice: Choice | None, pending: bool) -> str:
        """Return a hint in a sentence: first only how the best-known action begins, then all of it.

        Args:
            choice: The latest decision.
            pending: Whether it has not been carried out yet.
        """
        if choice is None or not pending:
            return NOTHING_YET
        if choice is not self._of:
            self._of, self._given = choice, 0
        action, source = best(choice.decision)
        if not source:
            return "There is no hint: neither the agent nor memory knows anything here."
        action = one_line(action)
        first, _, rest = action.partition(" ")
        self._given = min(self._given + 1, 2)
        shown = action if self._given == 2 else f"{first} …" if rest else f"{first[:1]}…, one word"
        return f"Hint {self._given} of 2, from {source}: {shown}"


def best(decision: Decision) -> tuple[str, str]:
    """Return the most probable action of a decision, and where it comes from; "" as source if it is a mere draw."""
    if not decision.candidates:
        return decision.action, ""
    at = max(range(len(decision.candidates)), key=lambda i: decision.posterior[i])
    candidate, update = decision.candidates[at], decision.update
    if update is not None and update.valuation.how[at] == "known":
        return candidate.action, "memory"
    if candidate.source == "random" or len(set(decision.posterior)) == 1 < len(decision.candidates):
        return candidate.action, ""
    return candidate.action, "the agent"
