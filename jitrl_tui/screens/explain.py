"""The window "explain": how each number of a decision comes about, for one candidate at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content

from engine import disk
from jitrl_tui.runs import derivation, hits
from jitrl_tui.runs.derivation import Derived
from jitrl_tui.runs.view import Choice
from jitrl_tui.screens.command_screen import CommandDialog
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import ACCENT, MUTED, STRONG, LinePane, fit, wrap


class _Derivation(LinePane):
    """The numbers of one candidate, each with its equation, its function and its calculation."""

    def __init__(self, choice: Choice, order: Sequence[int], action: str = "") -> None:
        super().__init__("derivation")
        self._choice, self._order = choice, order
        actions = [choice.decision.candidates[index].action for index in order]
        self.at = actions.index(action) if action in actions else 0

    def build(self, width: int, height: int) -> list[Content]:
        """Return the lines."""
        decision, index = self._choice.decision, self._order[self.at]
        chosen = ", chosen" if index == decision.chosen else ""
        head = f"candidate {self.at + 1} of {len(self._order)}: {decision.candidates[index].action}{chosen}"
        lines = [Content.styled(line, ACCENT) for line in wrap(head, width)]
        lines += [Content.styled(line, STRONG) for line in wrap(derivation.chain(decision, index), width)]
        for step in derivation.derive(self._choice, index):
            lines += [Content(""), *_derived_lines(step, width)]
        return lines

    def move(self, by: int) -> None:
        """Show another candidate."""
        self.at = (self.at + by) % len(self._order)
        self.renew()
        self.scroll_home(animate=False)


def _derived_lines(step: Derived, width: int) -> list[Content]:
    value = fit(step.value, max(4, width - len(step.symbol) - len(step.name) - 6)).rstrip()
    head = Content.assemble((f"{step.symbol:<5}", ACCENT), step.name, ("  = " if value else ""), (value, STRONG))
    rows = [("paper", step.paper), ("code", derivation.place(step.code)), *(("here", line) for line in step.worked)]
    lines = [head]
    for name, text in rows:
        for at, line in enumerate(wrap(text, max(10, width - 12))):
            lines.append(Content.assemble((f"     {'' if at else name:<7}", MUTED), line))
    return lines


class ExplainDialog(CommandDialog[None]):
    """How the numbers of a choice come about.

    Args:
        choice: A choice with at least one candidate.
        action: The candidate to begin with, "" for the first one.
    """

    screen_name = "explain"

    def __init__(self, choice: Choice, action: str = "") -> None:
        super().__init__(classes="-page")
        self.commands = {
            "candidate": lambda by: self.query_one(_Derivation).move(by), "save": self._save, "help": self.show_help,
            "leave": lambda: self.dismiss(None),
        }  # fmt: skip
        self._choice, self._action = choice, action

    def compose(self) -> ComposeResult:
        """Lay out the one pane."""
        choice = self._choice
        with self.box(f"explain: episode {choice.episode}, step {choice.decision.step + 1}"):
            yield _Derivation(choice, hits.display_order(choice.decision), self._action)
        yield KeyBar("keybar")

    def _save(self) -> None:
        """Write the decision into a file that a test can compute again."""
        folder = Path.cwd()
        try:
            made = derivation.fixture(self._choice)
            session = f"{made['session']}-" if made["session"] else ""
            path = folder / f"decision-{session}{made['episode']}-{made['step'] + 1}.json"
            disk.write_private(path, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        except ValueError as error:
            self.notify(f"Nothing to save: {error}.", severity="warning")
        except OSError as error:
            self.notify(f"Cannot write to {disk.printable(folder)}: {error.strerror}.", severity="error", markup=False)
        else:
            self.notify(f"Saved as {disk.printable(path)}", timeout=6, markup=False)
