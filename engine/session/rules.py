"""Rules that say at which decisions a session stops for a person: breakpoints.

A rule is written as one short text: `score`, `entropy>1.2`, `command:take *`. Whether it matches is a pure function of
the decision and of what was seen before and after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass

from engine import explain
from engine.errors import UsageError
from engine.records import Decision, Observation

LONGEST = 200
"""Largest number of characters in a pattern."""
MOST = 100
"""Largest number of rules of a session."""

KINDS: tuple[tuple[str, str, str], ...] = (
    ("score", "score", "a step changes the score"),
    ("new-place", "new-place", "a step leads to a place not seen in this session"),
    ("disagree", "disagree", "memory changed what the model alone would take"),
    ("entropy", "entropy>X", "the entropy of the policy is above X nats"),
    ("danger", "danger>X", "the action risks more than X points"),
    ("text", "text:WORDS", "the output has these words"),
    ("command", "command:WORDS", "the action has these words; * is anything"),
    ("episode", "episode=N", "episode N begins"),
)
"""Each kind of rule: its name, how it is written, and when it matches."""

_PLAIN = ("score", "new-place", "disagree")


@dataclass(frozen=True, slots=True)
class Rule:
    """One breakpoint.

    Attributes:
        kind: A name in `KINDS`.
        limit: The number of `entropy`, in nats, of `danger`, in points, and of `episode`.
        pattern: The words of `text` and `command`.
    """

    kind: str
    limit: float = 0.0
    pattern: str = ""

    def __str__(self) -> str:
        if self.kind in ("text", "command"):
            return f"{self.kind}:{self.pattern}"
        if self.kind in ("entropy", "danger"):
            return f"{self.kind}>{self.limit:g}"
        return f"episode={self.limit:.0f}" if self.kind == "episode" else self.kind


def parse(text: str) -> Rule:
    """Return the rule that a text stands for.

    Raises:
        UsageError: It is none.
    """
    text = text.strip()
    if text in _PLAIN:
        return Rule(text)
    at = next((i for i, sign in enumerate(text) if sign in ">:="), len(text))
    kind, sign, rest = text[:at].strip(), text[at : at + 1], text[at + 1 :].strip()
    if sign == ">" and kind in ("entropy", "danger"):
        return Rule(kind, _number(kind, rest))
    if sign == ":" and kind in ("text", "command"):
        if not rest or len(rest) > LONGEST or not rest.isprintable():
            raise UsageError(f"a breakpoint {kind}:WORDS needs 1 to {LONGEST} letters after the colon")
        return Rule(kind, pattern=rest)
    if sign == "=" and kind == "episode":
        if not (rest.isascii() and rest.isdigit() and len(rest) < 9 and int(rest) > 0):
            raise UsageError(f"a breakpoint episode=N needs the number of an episode from 1, not {rest[:40]!r}")
        return Rule(kind, float(rest))
    ways = ", ".join(written for _, written, _ in KINDS)
    raise UsageError(f"{text[:60]!r} is no breakpoint; there are: {ways}")


def _number(kind: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1e9:
        unit = "nats" if kind == "entropy" else "points"
        raise UsageError(f"a breakpoint {kind}>X needs a number of {unit} from 0, not {text[:40]!r}")
    return value


def before(rule: Rule, decision: Decision, seen: Observation, episode: int) -> str:
    """Return why a rule holds a decision before it is carried out, "" if it does not.

    Args:
        seen: What was seen when it was made.
        episode: Number of its episode, from 1.
    """
    action = decision.action
    if rule.kind == "disagree" and decision.changed:
        update = decision.update
        return f"memory changed the choice from '{update.without_memory if update else ''}' to '{action}'"
    if rule.kind == "entropy" and (nats := entropy(decision.posterior)) > rule.limit:
        return f"the entropy of the policy is {nats:.2f} nats"
    if rule.kind == "danger" and (points := risk(decision)) > rule.limit:
        return f"the risk of '{action}' is {points:.2f} points"
    if rule.kind == "text" and matches(rule.pattern, seen.text):
        return f"the output has '{rule.pattern}'"
    if rule.kind == "command" and matches(rule.pattern, action):
        return f"the action is '{action}'"
    if rule.kind == "episode" and decision.step == 0 and episode == rule.limit:
        return f"episode {episode} begins"
    return ""


def after(rule: Rule, seen: Observation, then: Observation, places: Set[tuple[str, int]]) -> str:
    """Return why a rule stops the session after a step, "" if it does not.

    Args:
        seen: What was seen before the step.
        then: What was seen after it.
        places: The places seen before in this session, as `place_of` names them.
    """
    if rule.kind == "score" and then.score != seen.score:
        return f"the score changed by {then.score - seen.score:+g} to {then.score:g}"
    if rule.kind == "new-place" and then.place and place_of(then) not in places:
        return f"'{then.place}' is a new place"
    return ""


def place_of(seen: Observation) -> tuple[str, int]:
    """Return what tells a place from others: its name, and a number where several have the same name."""
    return seen.place, seen.room


def entropy(policy: Sequence[float]) -> float:
    """Return the entropy of a distribution in nats."""
    return -sum(p * math.log(p) for p in policy if p > 0.0)


def risk(decision: Decision) -> float:
    """Return the points that the chosen action may lose by its danger; 0 if the estimator has no such term."""
    update = decision.update
    if update is None or decision.chosen < 0:
        return 0.0
    terms = explain.shown_values(update).terms.get("risk", ())
    return max(0.0, -terms[decision.chosen]) if terms else 0.0


def matches(pattern: str, text: str) -> bool:
    """Return whether a text has the words of a pattern, whatever their case; `*` stands for anything.

    A pattern without `*` may be anywhere in the text. One with `*` must match all of it. The time that this takes grows
    only with the lengths of the two.
    """
    text, pattern = " ".join(text.casefold().split()), pattern.casefold()
    if "*" not in pattern:
        return pattern in text
    first, *middle, last = pattern.split("*")
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
