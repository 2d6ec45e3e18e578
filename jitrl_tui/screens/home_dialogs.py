"""The questions of the home screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.screens.home_form import METHODS
from jitrl_tui.widgets.lines import ACCENT
from jitrl_tui.widgets.picker import Picker

KEPT = "as before"
"""The profile that stands for the settings of the session."""


class ChangeDialog(Dialog[tuple[str, str]]):
    """Asks for another model or profile to go on with. The answer is (model, profile), "" for an unchanged profile.

    Args:
        model: The present model.
        profile: The present profile.
        left: Number of episodes that are left.
    """

    BINDINGS: ClassVar = [Binding("enter", "go_on", show=False)]

    def __init__(self, model: str, profile: str, left: int) -> None:
        super().__init__()
        self._model, self._profile, self._left = model, profile, left

    def compose(self) -> ComposeResult:
        """Lay out the sentence and the fields."""
        left = f"{self._left} episode{'' if self._left == 1 else 's'}"
        with self.box("go on with another model or profile"):
            yield Static(
                Content(
                    f"A new session plays the {left} that are left, with the memory of this one. This one stays as it "
                    "is. An episode that is not finished is begun anew."
                ),
                classes="hint",
            )
            yield Static("model, any litellm name", classes="hint")
            yield Input(self._model, select_on_focus=False)
            kept = (KEPT, f"the settings of the session ({self._profile})")
            yield Picker("profile", [kept, *METHODS], label="profile")
            yield Static(Content.assemble(("Enter", ACCENT), " go on   ", ("tab", ACCENT), " profile   ",
                                          ("Esc", ACCENT), " close"))  # fmt: skip

    def on_mount(self) -> None:
        """Let the cursor not blink."""
        self.query_one(Input).cursor_blink = False

    def on_input_submitted(self) -> None:
        """Answer."""
        self.action_go_on()

    def action_go_on(self) -> None:
        """Answer."""
        profile = self.query_one(Picker).value
        self.dismiss((self.query_one(Input).value.strip(), "" if profile == KEPT else profile))
