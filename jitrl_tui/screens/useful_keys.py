"""The keys of the watch screen that do something now, and those that the footer names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.panes.board import Panes
from jitrl_tui.screens.find import Find
from jitrl_tui.screens.levers import Levers
from jitrl_tui.screens.memory_trials import MemoryTrial
from jitrl_tui.screens.run_base import RunningScreen
from jitrl_tui.screens.shown_run import ShownRun
from jitrl_tui.widgets.command import CommandLine
from jitrl_tui.widgets.pane import PaneKind


class UsefulKeys:
    """Tells which keys do something now.

    Args:
        run: The run on the screen.
        screen: The screen.
        kinds: The kinds of panes.
        panes: Returns the panes.
        hands: What is tried out with memory.
        find: The search in the transcript.
        levers: The settings that keys change.
    """

    def __init__(
        self,
        run: ShownRun,
        screen: RunningScreen,
        kinds: Sequence[PaneKind],
        *,
        panes: Callable[[], Panes],
        hands: MemoryTrial,
        find: Find,
        levers: Levers,
    ) -> None:
        self._run = run
        self._screen = screen
        self._kinds = kinds
        self._panes = panes
        self._hands = hands
        self._find = find
        self._levers = levers

    def now(self, *, apart: bool = False) -> Sequence[Key]:
        """Return the keys that do something now.

        Args:
            apart: Whether two keys that turn one setting stand apart, as in the command palette.
        """
        run, screen = self._run, self._screen
        useless = {"toggle_pause"} if run.person_plays else {"leave_line", "advise"}
        over = run.view.activity == "ended"
        if over and screen.app.has_home:
            useless |= {"toggle_pause", "step_once", "forward"}
        useless |= {f"pane({kind.name!r})" for kind in self._kinds if kind not in self._panes().present}
        if not self._hands.edited:
            useless |= {"undo_trial", "keep_trial"}
        if not run.view.asks:
            useless.add("approve")
        if not self._find.sought:
            useless.add("find_next")
        live = run.source.live and not over
        keys = [key for key in screen.key_table if (live or not key.live) and key.action not in useless]
        return keymap.turning(keys, self._levers.symbol(), apart=apart) if live else keys

    def footer(self) -> list[tuple[str, str, str, int]]:
        """Return what the footer names: for each key, as `keymap.footer` says."""
        run, screen, view = self._run, self._screen, self._run.view
        labels = {"toggle_pause": "yes" if view.asks else "go on"} if view.activity == "paused" else {}
        kind = self._panes().kind_with_focus()
        keys = keymap.footer(screen.keys_now(), screen.focused, kind.name if kind else "", labels)
        if view.activity == "ended" and screen.app.has_home:
            keys.insert(0, ("h", "another game", "h", 0))
        if run.back is not None:
            keys.insert(0, ("esc", "present", "escape", 0))
        if run.person_plays and isinstance(screen.focused, CommandLine):
            keys = [("Enter", "do it; empty: the agent", "enter", 0), ("tab", "complete", "tab", 2),
                    ("/", "hint, undo …", "slash", 1)]
            hide = {} if self._panes().discreet else {"advise": "hide agent"}
            here = [key for key in screen.key_table if key.action in ("leave_line", "advise")]
            keys += [(key.written, hide.get(key.action, key.label), key.first, 0) for key in here]
        elif run.person_plays:
            keys.insert(0, ("esc", "command line", "escape", 0))
        return keys
