"""What is special about asking a model for actions on web pages (App. F, WebArena).

The current state of a page is text that begins with a line "Task: ..." and holds the page between marks, see
`engine.web.environment`.
"""

from __future__ import annotations

from engine.errors import UsageError
from engine.llm import prompts
from engine.records import ActionRequest

GOAL = "Task: "
TITLE = "Title: "
_RECENT = 6


def blanks(request: ActionRequest) -> dict[str, str]:
    """Return what the prompts for pages have more than those for games."""
    from engine.web.actions import DESCRIPTION

    return {"task_goal": _line(request.current_state, GOAL), "action_space_description": DESCRIPTION}


def unmarked_blanks(given: dict[str, str]) -> dict[str, str]:
    """Return blanks that stand between marks in the prompts, without anything that looks like these."""
    return {name: prompts.unmarked(text) if name == "valid_actions" else text for name, text in given.items()}


def without_goal(current_state: str) -> str:
    """Return the present without what the user asked: that stands apart from what the site says."""
    first, _, rest = current_state.partition("\n")
    return rest if first.startswith(GOAL) else current_state


def transcript(request: ActionRequest) -> str:
    """Return the present in short, for small models, which go on with a transcript and read no page."""
    lines = [line for line in request.recent_history.splitlines() if line.strip()]
    done = [line.strip() for line in lines if not line.startswith("  ->")]
    lines = [f"{GOAL}{_line(request.current_state, GOAL)}"]
    lines += [f"> {action}" for action in done[-_RECENT:]]
    lines += [f"Page: {_line(request.current_state, TITLE)}"]
    return "\n".join(lines)


def as_action(text: str) -> str | None:
    """Return a written action in its plain form, None if it is none. Whether the page has it is seen later."""
    from engine.web.actions import parse

    try:
        return parse(text.strip().strip("`")).text
    except UsageError:
        return None


def _line(text: str, start: str) -> str:
    return next((line.removeprefix(start) for line in text.splitlines() if line.startswith(start)), "")
