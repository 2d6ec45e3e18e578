"""What the screens say of what can be done, and of decisions that were not simply the agent's."""

from __future__ import annotations

from engine.records import Decision, Steered


def all_actions(decision: Decision) -> str:
    """Return what can be done, as far as it is known."""
    return ", ".join(decision.possible) or "None is known."


def drawn_at_random(decision: Decision) -> str:
    """Return a sentence if the action was drawn, as neither model nor memory had an answer; else ""."""
    if not decision.tally.random or decision.provenance == "human":
        return ""
    why = decision.note.partition(": drew from")[0] or "the model gave no usable answer"
    return f"'{decision.action}' was drawn at random from the valid actions: {why}."


def early_text(decision: Decision) -> str:
    """Return what the transcript says of a decision before it is carried out, "" for most decisions."""
    if decision.by == "agent":
        return drawn_at_random(decision)
    if decision.by == "rule" or decision.reason.startswith("vetoed"):
        names = " and ".join(f"'{name}'" for name in decision.vetoed)
        return f"Vetoed in this state: {names}. The agent chooses '{decision.action}' instead."
    return ""


def from_elsewhere(event: Steered) -> str:
    """Return what was done from another process, or why it was refused, as a sentence."""
    if event.accepted:
        return f"From elsewhere: {event.message}."
    return f"From elsewhere: '{event.command}' of {event.by} was refused: {event.message}."
