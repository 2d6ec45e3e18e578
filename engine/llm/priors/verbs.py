"""A prior for text adventures from a small table of verbs.

The table has verbs and knows no particular game. Its numbers are log-odds that were set by hand once, from
the meaning of the verbs in the genre: moving, taking and opening reveal something new and can be undone;
throwing, eating and breaking cannot. They were not fitted to any data.
"""

from __future__ import annotations

DIRECTIONS = frozenset({
    "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest", "up", "down", "in", "out",
    "n", "s", "e", "w", "ne", "nw", "se", "sw", "u", "d",
})  # fmt: skip
MOVE = 1.5
OTHER = 0.0

LOGITS = {
    "take": 2.0, "get": 2.0, "pick": 2.0, "open": 2.0, "unlock": 2.0,
    "enter": 1.5, "climb": 1.5, "cross": 1.5,
    "light": 1.0, "turn": 1.0, "switch": 1.0, "activate": 1.0, "push": 1.0, "pull": 1.0, "move": 1.0, "lift": 1.0,
    "raise": 1.0, "press": 1.0, "read": 1.0, "look": 1.0, "search": 1.0, "examine": 1.0,
    "put": 0.0, "insert": 0.0, "give": 0.0, "show": 0.0, "tie": 0.0, "wear": 0.5, "ask": 0.5, "dig": 0.5, "cook": 0.5,
    "attack": -0.5, "kill": -0.5, "hit": -0.5, "cut": -0.5, "break": -0.5, "drink": -0.5, "wait": -1.0,
    "close": -1.0, "lower": -1.0, "extinguish": -1.5, "drop": -1.5, "throw": -2.0, "eat": -1.5, "pour": -1.5,
    "burn": -1.5, "jump": -1.5, "destroy": -1.5,
}  # fmt: skip
"""Log-odds of a command by its verb. Other verbs have OTHER, and directions have MOVE."""

ALL = -1.0
"""Added to the log-odds of a command with "all", except for taking all."""


def logit(action: str) -> float:
    """Return the log-odds of a command."""
    words = action.casefold().split()
    if not words:
        return OTHER
    verb = words[0]
    if (len(words) == 1 and verb in DIRECTIONS) or verb in ("go", "walk"):
        return MOVE
    z = LOGITS.get(verb, OTHER)
    if verb in ("turn", "switch") and "off" in words:
        z = LOGITS["extinguish"]
    if "all" in words[1:] and (verb not in ("take", "get") or len(words) > 2):
        z += ALL
    return z
