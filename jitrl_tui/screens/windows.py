"""Windows over the watch screen: prompts, explanation, search, help. And copying, and the theme."""

from __future__ import annotations

from collections.abc import Sequence

from jitrl_tui.keymap import Key
from jitrl_tui.panes.board import Panes
from jitrl_tui.panes.registry import PaneKind
from jitrl_tui.screens import dialogs, explain, help
from jitrl_tui.screens.play_actions import PlayingScreen
from jitrl_tui.slash_commands import help_list


class WindowsScreen(PlayingScreen):
    """A screen for one run, with the windows that explain it."""

    _kinds: tuple[PaneKind, ...]
    _sought = ""
    _found_at = 0

    @property
    def panes(self) -> Panes:
        """The panes."""
        raise NotImplementedError

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        return self.key_table

    def action_calls(self) -> None:
        """Show the raw prompts and replies."""
        if self.choice is None:
            self.notify("No decision yet.", timeout=2)
        else:
            self.app.push_screen(dialogs.CallsDialog(self.choice, self.view.calls_of(self.choice)))

    def action_explain(self) -> None:
        """Show how the numbers of the displayed choice come about."""
        if self.choice is None or not self.choice.decision.candidates:
            self.notify("No decision yet.", timeout=2)
        else:
            self.app.push_screen(explain.ExplainDialog(self.choice))

    def action_find(self) -> None:
        """Search the transcript."""
        self.action_pane("transcript")
        dialog = dialogs.FindDialog(self.panes.transcript.paragraphs)

        def found(at: str | None) -> None:
            if at is not None:
                self._sought = dialog.wanted
                self._go_to_found(int(at))

        self.app.push_screen(dialog, found)

    def action_find_next(self) -> None:
        """Go to the place before, of those that were found last."""
        paragraphs = self.panes.transcript.paragraphs
        before = next(dialogs.places_of(self._sought, list(paragraphs)[: self._found_at]), None)
        if before is None:
            self.notify("No earlier place was found. / searches the transcript.", timeout=3)
        else:
            self._go_to_found(before)

    def _go_to_found(self, at: int) -> None:
        self._found_at = at
        self.panes.transcript.go_to_paragraph(at)

    def action_help(self) -> None:
        """Show the help."""
        typed = help_list() if self.person_plays else ""
        kind = self.panes.kind_with_focus()
        self.app.push_screen(help.of_watching("watch", self._kinds, self.keys_now(), kind, self.focused, typed))

    def action_pane_help(self) -> None:
        """Show the help of the pane with the focus, or the whole help if no pane has it."""
        kind = self.panes.kind_with_focus()
        if kind is None:
            self.action_help()
        else:
            self.app.push_screen(help.of_pane(kind))

    def action_copy(self) -> None:
        """Copy the marked text, or the text of the pane with the focus."""
        text = self.get_selected_text() or self.panes.text_with_focus()
        if text:
            self.app.copy_to_clipboard(text)
            self.notify(f"Copied {len(text):,} characters.", timeout=2)
